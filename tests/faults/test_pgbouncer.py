"""Through PgBouncer in transaction mode, where each transaction may get another backend."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from howdah import Client, Worker
from howdah.store import bell
from tests.faults import kinds
from tests.faults.conftest import all_completed, working
from tests.support.held import together, wait_until
from tests.support.pgbouncer import PGBOUNCER, pgbouncer

ARMED = "SELECT 1 WHERE pg_sequence_last_value('howdah.bell'::regclass) = 1"
EFFECTS = "SELECT count(*), count(DISTINCT job_id) FROM public.effects"

pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="no pgbouncer is installed here")


@pytest.fixture
def pooled(dsn: str, effects: None) -> Iterator[str]:
    """The DSN of a PgBouncer of the test's own, with three backends for everybody."""
    with pgbouncer(dsn) as address:
        yield address


def test_many_clients_over_few_backends(pooled: str, conn: psycopg.Connection[Any]) -> None:
    with Client(pooled) as client:

        def work(name: str) -> int:
            for n in range(30):  # often enough for psycopg to prepare a statement, were it to
                client.enqueue("k", {"n": n}, queue=name, key=f"{name}:{n}")
            client.enqueue_many([client.new("k", {}, queue=name) for _ in range(3)])
            client.load([client.new("k", {}, queue=name)])
            done = 0
            while claimed := client.claim([name], limit=5, worker=name):
                for job in claimed:
                    client.extend(client.start(job.lease), 60)
                    client.complete(job.lease, {"ok": True})
                    assert client.get(job.id).result == {"ok": True}
                    done += 1
            return done

        finished = together(*[lambda name=f"q{n}": work(name) for n in range(6)])  # type: ignore[misc]
        assert finished == [34] * 6
        first = client.enqueue("k", {}, subject="s")
        assert client.cancel(first.id).state == "cancelled"
        assert client.requeue(first.id).state == "available"
        assert set(client.sweep()) >= {"retried", "promoted", "pruned"}


def test_a_worker_polls_and_says_how_it_could_be_woken(
    dsn: str,
    pooled: str,
    conn: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(bell, "PROBE", 0.2)
    monkeypatch.setattr(bell, "HEARS", 0.5)
    monkeypatch.setattr(bell, "DEAF_PAUSE", 0.1)
    with working(pooled, observer=dsn), Client(pooled) as client:
        kinds_ = (kinds.note, kinds.write, kinds.write_blocking)
        made = [kind.enqueue(client).id for _ in range(30) for kind in kinds_]
        running = kinds.hold_shortly.enqueue(client, "g")
        all_completed(dsn, made, 20)
        wait_until(lambda: "HOWDAH_LISTEN_DSN" in caplog.text, what="the hint")
        wait_until(lambda: kinds.ran[running.id], what="the job to run")
        kinds.gate("g").set()
        all_completed(dsn, [running.id])
    assert caplog.text.count("HOWDAH_LISTEN_DSN") == 1
    assert set(kinds.ran.values()) == {1}
    assert conn.execute(EFFECTS).fetchone() == (60, 60)


def test_with_a_listen_dsn_a_worker_is_woken(
    dsn: str, pooled: str, conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOWDAH_LISTEN_DSN", dsn)
    with working(pooled, observer=dsn, poll=60.0), Client(pooled) as client:
        wait_until(lambda: conn.execute(ARMED).fetchone(), what="the worker to be idle")
        all_completed(dsn, [kinds.note.enqueue(client).id], 5)


def test_drain_runs_what_is_there(dsn: str, pooled: str) -> None:
    with Client(pooled) as client:
        made = [kinds.write.enqueue(client).id for _ in range(30)]
        assert Worker(pooled, [kinds]).drain().completed == 30
        all_completed(dsn, made)
