"""What the views say of a small scene, with the clock at rest."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from howdah import Client, job
from howdah.store.drivers import on_psycopg, run
from howdah.store.workers import register_kinds

One = Callable[..., dict[str, Any]]
NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def dsn(cloned_dsn: str) -> str:
    return cloned_dsn  # the clock is moved


@pytest.fixture
def at(conn: psycopg.Connection) -> Callable[[float], None]:
    """Stops the database's clock so many seconds after NOW."""

    def move(seconds: float) -> None:
        moment = NOW + timedelta(seconds=seconds)
        conn.execute(
            f"CREATE OR REPLACE FUNCTION howdah.clock() RETURNS timestamptz LANGUAGE sql"
            f" AS $$SELECT '{moment.isoformat()}'::timestamptz$$".encode()
        )
        conn.execute("SELECT howdah.ensure_partition('2030-01-01')")

    move(0)
    return move


def test_all_jobs_shows_a_job_once_wherever_it_is(client: Client, at: object, one: One) -> None:
    live = client.enqueue("a", {"n": 1}, max_attempts=3, tags=["t"], headers={"h": "v"}).id
    done = client.enqueue("a", {"n": 2}, queue="other").id
    client.complete(client.claim(["other"], worker="w")[0].lease, {"sum": 3})
    row = one("SELECT * FROM howdah.all_jobs WHERE id = %s", live)
    assert (row["state"], row["max_attempts"], row["args"]) == ("available", 3, {"n": 1})
    assert (row["tags"], row["headers"], row["finished_at"]) == (["t"], {"h": "v"}, None)
    row = one("SELECT * FROM howdah.all_jobs WHERE id = %s", done)
    assert (row["state"], row["result"], row["finished_at"]) == ("completed", {"sum": 3}, NOW)
    assert (row["settled_by"], row["settled_event"], row["settled_attempt"]) == ("worker", "complete", 1)
    assert one("SELECT count(*) AS n FROM howdah.all_jobs")["n"] == 2


def test_all_jobs_shows_the_cap_in_effect(client: Client, conn: psycopg.Connection, at: object, one: One) -> None:
    unknown_kind = client.enqueue("nobody", {}).id
    of_its_kind = client.enqueue("known", {}).id
    its_own = client.enqueue("known", {}, max_attempts=7).id
    conn.execute("INSERT INTO howdah.kinds (kind, max_attempts) VALUES ('known', 4)")
    caps = dict(conn.execute("SELECT id, max_attempts FROM howdah.all_jobs").fetchall())
    assert caps == {unknown_kind: 10, of_its_kind: 4, its_own: 7}
    client.cancel(of_its_kind)
    conn.execute("UPDATE howdah.kinds SET max_attempts = 5")
    assert one("SELECT max_attempts AS n FROM howdah.all_jobs WHERE id = %s", of_its_kind)["n"] == 4


def test_queue_stats_counts_by_state_and_tells_ages(client: Client, at: Callable[[float], None], one: One) -> None:
    first = client.enqueue("a", {}, queue="mail").id
    failing = client.claim(["mail"], worker="w", lease=10)[0]
    assert failing.id == first
    client.fail(failing.lease, "no", retry_in=500)
    client.enqueue("a", {}, queue="mail", delay=900)
    client.enqueue("a", {}, queue="mail")
    client.claim(["mail"], worker="w", lease=10)
    client.enqueue("a", {}, queue="mail")
    at(30)
    client.enqueue("a", {}, queue="mail")
    client.pause("mail")
    at(60)
    row = one("SELECT * FROM howdah.queue_stats WHERE queue = 'mail'")
    counts = ("available", "scheduled", "retrying", "blocked", "running", "unknown", "leases_expired")
    assert [row[name] for name in counts] == [2, 2, 1, 0, 1, 0, 1]
    assert (row["oldest_available_age_seconds"], row["oldest_running_age_seconds"]) == (60.0, 60.0)
    assert row["next_run_at"] == NOW + timedelta(seconds=500)
    assert (row["paused"], row["paused_at"]) == (True, NOW + timedelta(seconds=30))
    assert (row["workers"], row["slots"], row["utilization"]) == (0, 0, None)


def test_queue_stats_counts_the_workers_that_are_there(
    client: Client, conn: psycopg.Connection, at: object, one: One
) -> None:
    _worker(conn, "one", '{"mail": 3, "idle": 1}', 0)
    _worker(conn, "two", '{"mail": 1}', 20)
    _worker(conn, "gone", '{"mail": 8}', 61)
    client.enqueue("a", {}, queue="mail")
    client.claim(["mail"], worker="one")
    row = one("SELECT * FROM howdah.queue_stats WHERE queue = 'mail'")
    assert (row["workers"], row["slots"], row["utilization"]) == (2, 4, 0.25)
    assert (row["paused"], row["oldest_available_age_seconds"], row["next_run_at"]) == (False, None, None)
    row = one("SELECT * FROM howdah.queue_stats WHERE queue = 'idle'")
    assert (row["available"], row["running"], row["workers"], row["utilization"]) == (0, 0, 1, 0.0)


@pytest.mark.parametrize(
    ("age", "stopping", "status"),
    [
        (0, False, "alive"),
        (15, False, "alive"),
        (16, False, "late"),
        (61, False, "lost"),
        (16, True, "stopping"),
        (61, True, "lost"),
    ],
)
def test_worker_status_goes_by_the_heartbeat(
    age: float, stopping: bool, status: str, conn: psycopg.Connection, at: object, one: One
) -> None:
    _worker(conn, "w", '{"a": 2, "b": 3}', age, stopping)
    row = one("SELECT * FROM howdah.worker_status")
    assert (row["status"], row["heartbeat_age_seconds"], row["slots"]) == (status, age, 5)
    assert (row["hostname"], row["pid"], row["version"], row["running"]) == ("host", 42, "0.1", 0)


def test_lease_status_shows_running_jobs(client: Client, at: Callable[[float], None], one: One) -> None:
    running = client.enqueue("a", {}).id
    client.enqueue("a", {})
    client.claim(worker="w", lease=10)
    client.cancel(running)
    at(4)
    row = one("SELECT * FROM howdah.lease_status")
    assert (row["job_id"], row["worker"], row["attempt"], row["claimed_at"]) == (running, "w", 1, NOW)
    assert (row["lease_remaining_seconds"], row["expired"], row["cancel_requested"]) == (6.0, False, True)
    at(12)
    row = one("SELECT * FROM howdah.lease_status")
    assert (row["lease_remaining_seconds"], row["expired"]) == (-2.0, True)


def test_unknown_jobs_shows_what_waits_for_a_person(
    client: Client, conn: psycopg.Connection, at: Callable[[float], None], one: One
) -> None:
    @job(kind="parked", on_crash="unknown")
    def parked(n: int) -> None: ...

    run(on_psycopg(conn), register_kinds([parked.policy], "w"))
    enqueued = parked.options(key="k", subject="s").enqueue(client, n=1)
    client.start(client.claim(worker="w", lease=10)[0].lease)
    at(11)
    assert client.reap().unknown == 1
    at(40)
    row = one("SELECT * FROM howdah.unknown_jobs")
    assert (row["id"], row["attempt"], row["worker"], row["started_at"]) == (enqueued.id, 1, "w", NOW)
    assert (row["unknown_for_seconds"], row["key"], row["subject"], row["args"]) == (30.0, "k", "s", {"n": 1})
    assert row["errors"][0]["event"] == "crashed"
    assert one("SELECT unknown, running FROM howdah.queue_stats") == {"unknown": 1, "running": 0}


def _worker(conn: psycopg.Connection, name: str, queues: str, age: float, stopping: bool = False) -> None:
    conn.execute(
        """
        INSERT INTO howdah.workers (worker, hostname, pid, version, queues, stopping, heartbeat_at)
        VALUES (%s, 'host', 42, '0.1', %s, %s, %s)
        """,
        [name, queues, stopping, NOW - timedelta(seconds=age)],
    )
