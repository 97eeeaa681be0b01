"""`howdah jobs tail`: a line for each change, until told to stop."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from howdah import Client
from howdah.cli import tail
from howdah.model.errors import Unreachable
from howdah.store.connections import Connections
from tests.cli.conftest import Howdah
from tests.journey.conftest import HOWDAH, TOP, environment
from tests.support.held import wait_until
from tests.support.jobs import make_job

Steps = Callable[..., None]


@pytest.fixture
def between_looks(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Do these things, one before each look, instead of waiting; the last look is followed by Ctrl-C."""

    def plan(*steps: Callable[[], object]) -> None:
        left: Iterator[Callable[[], object]] = iter(steps)

        def pause(seconds: float) -> None:
            step = next(left, None)
            if step is None:
                raise KeyboardInterrupt
            step()

        monkeypatch.setattr(tail, "_pause", pause)

    return plan


def test_each_change_of_a_job_is_a_line(howdah: Howdah, client: Client, between_looks: Steps) -> None:
    between_looks(
        lambda: client.enqueue("k", {}),
        lambda: client.fail(client.claim(worker="w1")[0].lease, ValueError("boom"), retry_in=0),
        client.sweep,
        lambda: client.claim(worker="w2"),
        lambda: client.enqueue("other", {}),
    )
    ran = howdah("jobs", "tail", "--kind", "k", "-o", "jsonl")
    assert ran.status == 0
    states = [(row["state"], row["attempt"]) for row in ran.lines]
    assert states == [("available", 0), ("scheduled", 1), ("available", 1), ("running", 2)]
    assert ran.lines[1]["error"] == "ValueError: boom"
    assert all(row["at"] for row in ran.lines)


def test_what_ended_between_two_looks_is_seen(
    howdah: Howdah, client: Client, conn: psycopg.Connection, between_looks: Steps
) -> None:
    old = make_job(conn)
    make_job(conn, "discarded")

    def run_both() -> None:
        client.enqueue("k", {})
        for claimed in client.claim(limit=2, worker="w"):
            client.complete(claimed.lease)

    between_looks(run_both, lambda: client.requeue(old), lambda: None)
    ran = howdah("jobs", "tail", "-o", "json")
    assert [row["state"] for row in ran.json] == ["completed", "completed", "available"]
    assert old in [row["id"] for row in ran.json]


def test_what_is_committed_late_is_seen(
    howdah: Howdah, client: Client, conn: psycopg.Connection, between_looks: Steps
) -> None:
    """Its id is lower and its end earlier than those of jobs that have been shown already."""
    with psycopg.connect(client_dsn(conn)) as late:
        first = make_job(late)
        slow = make_job(late, "completed")
        make_job(conn)
        between_looks(
            lambda: make_job(conn),
            lambda: client.complete(client.claim(worker="w")[0].lease),
            late.commit,
        )
        shown = [row["id"] for row in howdah("jobs", "tail", "-o", "jsonl").lines]
    assert shown[-2:] in ([first, slow], [slow, first])


def test_an_old_job_is_watched_once_it_has_been_shown(
    howdah: Howdah, client: Client, conn: psycopg.Connection, between_looks: Steps
) -> None:
    old = make_job(conn)
    conn.execute("SELECT setval('howdah.job_id_seq', nextval('howdah.job_id_seq') + 5000)")
    make_job(conn, "scheduled")
    leases = []
    between_looks(
        lambda: leases.extend(claimed.lease for claimed in client.claim(worker="w")),
        lambda: client.fail(leases[0], "bad"),
        lambda: client.cancel(old),
        lambda: client.requeue(old),
    )
    rows = howdah("jobs", "tail", "-o", "jsonl").lines
    assert [row["state"] for row in rows] == ["running", "scheduled", "cancelled", "available"]


def test_only_what_matches_is_shown(howdah: Howdah, client: Client, between_looks: Steps) -> None:
    def end_two() -> None:
        for number in range(2):
            client.enqueue("k", {})
            (claimed,) = client.claim(worker="w")
            client.fail(claimed.lease, "bad", permanent=True) if number else client.complete(claimed.lease)

    between_looks(end_two, lambda: client.enqueue("k", {}))
    rows = howdah("jobs", "tail", "--state", "discarded", "-o", "jsonl").lines
    assert [row["state"] for row in rows] == ["discarded"]


def test_limit_and_for_end_it(howdah: Howdah, conn: psycopg.Connection, between_looks: Steps) -> None:
    between_looks(lambda: [make_job(conn) for _ in range(5)])
    assert len(howdah("jobs", "tail", "--limit", 2).out.splitlines()) == 2
    assert howdah("jobs", "tail", "--for", "0").status == 0
    assert howdah("jobs", "tail", "--for", "0", "-o", "json").json == []


def test_a_line_is_not_obeyed_by_a_terminal(howdah: Howdah, conn: psycopg.Connection, between_looks: Steps) -> None:
    evil = "\x1b[2J\x9b31m\nevil"
    between_looks(lambda: make_job(conn, "discarded", kind=evil, worker=evil, errors=[{"type": evil, "message": evil}]))
    (line,) = howdah("jobs", "tail").out.splitlines()
    assert not [c for c in line if not c.isprintable()]


def test_a_database_that_goes_away_is_waited_for(
    howdah: Howdah, conn: psycopg.Connection, between_looks: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, away = Connections.run, iter([False, True, True])

    def sometimes(self: Connections, operation: object) -> object:
        if next(away, False):
            raise Unreachable("gone")
        return run(self, operation)  # type: ignore[arg-type]

    monkeypatch.setattr(Connections, "run", sometimes)
    between_looks(lambda: make_job(conn), lambda: None, lambda: None)
    ran = howdah("jobs", "tail", "-o", "jsonl")
    assert (len(ran.lines), ran.err.count("gone")) == (1, 1)


def test_ctrl_c_ends_it_with_status_0(dsn: str, conn: psycopg.Connection, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("wb") as file:
        process = subprocess.Popen(
            [*HOWDAH, "jobs", "tail", "--every", "0.05"], cwd=TOP, env=environment(dsn), stdout=file, stderr=file
        )
    try:
        wait_until(lambda: "following" in out.read_text(), what="the first look", timeout=20)
        make_job(conn)
        wait_until(lambda: "available" in out.read_text(), what="the line")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert "Traceback" not in out.read_text()
    finally:
        process.kill()
        process.wait()


def client_dsn(conn: psycopg.Connection) -> str:
    return conn.info.dsn
