"""`howdah jobs cancel|requeue|resolve`: one or many, audited, and none stops the others."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from howdah.cli import bulk
from howdah.store.connections import Connections
from tests.cli.conftest import Howdah
from tests.support.jobs import PAST, fetch, make_job, state_of
from tests.support.roles import apply, login


def audited(conn: psycopg.Connection) -> list[tuple[str, int]]:
    return conn.execute("SELECT action, job_id FROM howdah.audit ORDER BY job_id").fetchall()


@pytest.mark.parametrize("verb", ["cancel", "requeue"])
def test_without_ids_filter_or_all_nothing_is_done(howdah: Howdah, conn: psycopg.Connection, verb: str) -> None:
    job = make_job(conn, "available")
    for arguments in ((), ("--yes",), ("--limit", 5, "--yes")):
        ran = howdah("jobs", verb, *arguments)
        assert (ran.status, "--all" in ran.err) == (2, True)
    assert state_of(conn, job) == "available"


@pytest.mark.parametrize("more", [("--all",), ("--kind", "k"), ("--limit", 1)])
def test_ids_and_a_filter_together_are_refused(
    howdah: Howdah, conn: psycopg.Connection, more: tuple[object, ...]
) -> None:
    assert howdah("jobs", "cancel", make_job(conn), *more).status == 2
    assert audited(conn) == []


def test_where_nobody_can_be_asked_the_count_is_said_and_nothing_done(howdah: Howdah, conn: psycopg.Connection) -> None:
    jobs = [make_job(conn) for _ in range(3)]
    ran = howdah("jobs", "cancel", "--kind", "k")
    assert ran.status == 2
    assert ran.err.startswith("3 jobs to cancel")
    assert "--yes" in ran.err
    assert {state_of(conn, job) for job in jobs} == {"available"}


@pytest.mark.parametrize(("answer", "status", "state"), [("y\n", 0, "cancelled"), ("n\n", 1, "available")])
def test_at_a_terminal_one_is_asked_after_the_count(
    howdah: Howdah, conn: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, state: str
) -> None:
    monkeypatch.setattr(bulk, "_can_ask", lambda: True)
    job = make_job(conn)
    ran = howdah("jobs", "cancel", "--queue", "default", input=answer)
    assert (ran.status, state_of(conn, job)) == (status, state)
    assert ran.err.startswith("1 job to cancel: 1 available; queue default\ncancel them?")
    assert ("nothing was changed" in ran.err) == (answer == "n\n")


def test_cancel_by_ids_asks_nothing_and_tells_which_could_not_be(howdah: Howdah, conn: psycopg.Connection) -> None:
    free, held, done = make_job(conn), make_job(conn, "running"), make_job(conn, "completed")
    ran = howdah("jobs", "cancel", free, held, done, free, 2**62)
    assert ran.status == 1
    assert "1 cancelled" in ran.out
    assert "1 asked to end" in ran.out
    assert "2 could not be cancelled" in ran.out
    assert f"job {done} is completed" in ran.out
    assert fetch(conn, held)["cancel_requested_at"] is not None
    assert audited(conn) == [("cancel", free), ("cancel", held)]


def test_cancel_by_filter_means_what_can_be_cancelled(howdah: Howdah, conn: psycopg.Connection) -> None:
    jobs = {state: make_job(conn, state) for state in ("available", "scheduled", "running", "unknown", "completed")}
    ran = howdah("jobs", "cancel", "--kind", "k", "--yes", "-o", "json")
    assert (ran.status, ran.json["matched"], ran.json["refused"]) == (0, 3, [])
    assert ran.json["states"] == {"cancelled": 2, "running": 1}
    assert state_of(conn, jobs["unknown"]) == "unknown"
    assert howdah("jobs", "cancel", "--state", "completed", "--yes").status == 2


def test_requeue_by_filter_means_discarded_jobs_unless_it_says_a_state(
    howdah: Howdah, conn: psycopg.Connection
) -> None:
    discarded, done = make_job(conn, "discarded"), make_job(conn, "completed")
    ran = howdah("jobs", "requeue", "--all", "--yes", "-o", "json")
    assert (ran.status, ran.json["done"], "discarded" in ran.err) == (0, 1, True)
    assert (state_of(conn, discarded), state_of(conn, done)) == ("available", "completed")
    assert howdah("jobs", "requeue", "--state", "completed", "--yes").status == 0
    assert audited(conn) == [("requeue", discarded), ("requeue", done)]


def test_requeue_goes_on_where_a_key_is_held(howdah: Howdah, conn: psycopg.Connection) -> None:
    stuck = make_job(conn, "discarded", key="a")
    make_job(conn, "available", key="a")
    free = make_job(conn, "discarded", key="b")
    ran = howdah("jobs", "requeue", "--kind", "k", "--yes", "-o", "json")
    assert (ran.status, ran.json["done"]) == (1, 1)
    ((refused),) = ran.json["refused"]
    assert (refused["id"], refused["state"], "key" in refused["why"]) == (stuck, "discarded", True)
    assert state_of(conn, free) == "available"


def test_limit_takes_the_oldest(howdah: Howdah, conn: psycopg.Connection) -> None:
    jobs = [make_job(conn) for _ in range(3)]
    assert howdah("jobs", "cancel", "--all", "--limit", 2, "--yes").status == 0
    assert [state_of(conn, job) for job in jobs] == ["cancelled", "cancelled", "available"]


def test_a_job_that_changes_meanwhile_is_told_and_the_others_are_done(
    howdah: Howdah, conn: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [make_job(conn, "available") for _ in range(bulk.BATCH + 5)]

    def meanwhile(verb: str) -> None:
        conn.execute("DELETE FROM howdah.jobs WHERE id = %s", [jobs[0]])
        conn.execute(
            "UPDATE howdah.jobs SET state = 'unknown', lease_expires_at = now(), worker = 'w' WHERE id = %s", [jobs[1]]
        )

    monkeypatch.setattr(bulk, "_confirm", meanwhile)
    ran = howdah("jobs", "cancel", "--all", "-o", "json")
    assert (ran.status, ran.json["matched"], ran.json["done"]) == (1, len(jobs), len(jobs) - 2)
    assert {refused["id"]: refused["state"] for refused in ran.json["refused"]} == {jobs[0]: None, jobs[1]: "unknown"}


def test_a_row_that_no_statement_can_write_does_not_stop_its_batch(
    howdah: Howdah, cloned_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(cloned_dsn, autocommit=True) as conn:
        bad, good = make_job(conn), make_job(conn)
        conn.execute(f"ALTER TABLE howdah.history ADD CONSTRAINT bad CHECK (id <> {bad})")
        ran = howdah("jobs", "cancel", "--all", "--yes", "-o", "json", on=cloned_dsn)
        assert (ran.status, ran.json["done"]) == (1, 1)
        assert (state_of(conn, bad), state_of(conn, good)) == ("available", "cancelled")


def test_a_day_without_a_partition_is_made(howdah: Howdah, cloned_dsn: str) -> None:
    with psycopg.connect(cloned_dsn, autocommit=True) as conn:
        job, unknown = make_job(conn), make_job(conn, "unknown")
        for (leaf,) in conn.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'howdah.history'::regclass"
        ):
            conn.execute(f"DROP TABLE {leaf}")
        assert howdah("jobs", "cancel", job, on=cloned_dsn).status == 0
        for (leaf,) in conn.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'howdah.history'::regclass"
        ):
            conn.execute(f"DROP TABLE {leaf}")
        ran = howdah("jobs", "resolve", unknown, "--as", "discarded", "--note", "n", on=cloned_dsn)
        assert (ran.status, state_of(conn, unknown)) == (0, "discarded")


@pytest.mark.parametrize("output", ["table", "json"])
def test_an_interruption_tells_what_was_done(
    howdah: Howdah, conn: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    jobs = [make_job(conn, "discarded") for _ in range(3)]
    run = Connections.run_procedure

    def interrupted(self: Connections, procedure: Any) -> Any:
        if conn.execute("SELECT count(*) FROM howdah.jobs").fetchone() == (2,):
            raise KeyboardInterrupt
        return run(self, procedure)

    monkeypatch.setattr(Connections, "run_procedure", interrupted)
    ran = howdah("jobs", "requeue", *jobs, "-o", output)
    assert ran.status == 1
    if output == "json":
        assert (ran.json["matched"], ran.json["done"]) == (3, 2)
    else:
        assert ran.out.splitlines()[:2] == ["2 requeued", "1 not requeued as far as is known: it was interrupted"]


def test_nothing_that_matches_is_fine(howdah: Howdah) -> None:
    ran = howdah("jobs", "requeue", "--kind", "nobody")
    assert (ran.status, ran.out) == (0, "nothing to do\n")
    assert ran.err.startswith("0 jobs to requeue")


@pytest.mark.parametrize("state", ["completed", "discarded", "available"])
def test_resolve_says_how_unknown_jobs_ended(howdah: Howdah, conn: psycopg.Connection, state: str) -> None:
    unknown, other = make_job(conn, "unknown", started_at=PAST), make_job(conn)
    ran = howdah("jobs", "resolve", unknown, other, "--as", state, "--note", "seen in the ledger")
    assert (ran.status, state_of(conn, unknown), state_of(conn, other)) == (1, state, "available")
    assert "only an unknown job" in ran.out
    notes = conn.execute("SELECT action, job_id, note FROM howdah.audit").fetchall()
    assert notes == [("resolve", unknown, "seen in the ledger")]


@pytest.mark.parametrize("arguments", [("--as", "completed"), ("--note", "n"), ("--as", "running", "--note", "n")])
def test_resolve_needs_a_state_and_a_note(howdah: Howdah, conn: psycopg.Connection, arguments: tuple[str, ...]) -> None:
    job = make_job(conn, "unknown")
    assert howdah("jobs", "resolve", job, *arguments).status == 2
    assert howdah("jobs", "resolve", job, "--as", "completed", "--note", "").status == 2
    assert state_of(conn, job) == "unknown"


def test_what_a_job_says_is_not_obeyed_in_a_refusal(howdah: Howdah, cloned_dsn: str) -> None:
    with psycopg.connect(cloned_dsn, autocommit=True) as conn:
        make_job(conn, kind="\x1b[31mevil")
        conn.execute("ALTER TABLE howdah.history ADD CONSTRAINT bad CHECK (kind NOT LIKE '%evil')")
        ran = howdah("jobs", "cancel", "--all", "--yes", on=cloned_dsn)
    assert ran.status == 1
    assert "\x1b" not in ran.out + ran.err


def test_what_an_operator_may_not_do_has_certainly_changed_nothing(howdah: Howdah, cloned_dsn: str) -> None:
    apply(cloned_dsn)
    with psycopg.connect(cloned_dsn, autocommit=True) as conn, login(cloned_dsn, "howdah_producer") as producer:
        job = make_job(conn)
        ran = howdah("jobs", "cancel", job, on=producer)
        assert (ran.status, ran.out, state_of(conn, job)) == (1, "nothing was changed\n", "available")
        assert ran.err.startswith("howdah: permission denied for table jobs\n  → ")
        assert "LINE 1" not in ran.err


def test_a_note_is_looked_at_before_anything_is_done(howdah: Howdah) -> None:
    ran = howdah("jobs", "resolve", 1, "--as", "completed", "--note", "", on="host=/nowhere")
    assert (ran.status, ran.out, ran.err) == (2, "", "howdah: note '': must not be empty\n")
