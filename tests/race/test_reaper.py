"""The reaper: each expired lease is settled once, whoever else is about, and one bad row stops nobody."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from howdah import Client
from howdah.model.job import JobState, Reaped
from howdah.model.outcome import Actor, Event, Report
from howdah.store import settling, sweeping
from tests.support.held import Connect, background, held, together, wait_until_blocked
from tests.support.jobs import claim, enqueue, expire_lease, fetch, lease_of, make_job, run, state_of

LOCK = "SELECT FROM howdah.jobs WHERE id = %s FOR UPDATE"


def test_any_number_of_reapers_and_claimers_make_one_transition_of_one_expired_lease(
    conn: Connection[Any], connect: Connect
) -> None:
    reapers, claimers = [connect() for _ in range(4)], [connect() for _ in range(2)]
    for _ in range(10):
        job = make_job(conn, "running", lease_expired=True)
        answers = together(
            *(partial(run, c, sweeping.reap(10)) for c in reapers), *(partial(claim, c) for c in claimers)
        )
        assert sum(answer.retried for answer in answers[:4]) == 1
        row = fetch(conn, job)
        assert (row["state"], row["attempt"], row["crashes"], len(row["errors"])) == ("scheduled", 1, 1, 1)
        conn.execute("DELETE FROM howdah.jobs")


def test_a_row_that_somebody_holds_is_skipped_and_settled_at_the_next_pass(
    conn: Connection[Any], connect: Connect
) -> None:
    locked, free = (make_job(conn, "running", lease_expired=True) for _ in range(2))
    with held(connect) as holder:
        holder.execute(LOCK, [locked])
        assert run(conn, sweeping.reap(10)).retried == 1
    assert (state_of(conn, locked), state_of(conn, free)) == (JobState.RUNNING, JobState.SCHEDULED)
    assert run(conn, sweeping.reap(10)).retried == 1


def test_a_reap_that_waited_for_an_extension_leaves_the_lease(conn: Connection[Any], connect: Connect) -> None:
    """The pass skips what is locked; the statement alone must judge under the lock too."""
    job = make_job(conn, "running", lease_expired=True)
    reaper = connect()
    lease = lease_of(conn, job)
    with held(connect) as keeper:
        keeper.execute("UPDATE howdah.jobs SET lease_expires_at = howdah.clock() + interval '1 h' WHERE id = %s", [job])
        reports = [(lease, Report(Event.REAP))]
        waiting = background(lambda: run(reaper, settling.settle(reports, actor=Actor.REAPER)))
        wait_until_blocked(conn, reaper.info.backend_pid)
    assert waiting.result() == {}
    assert state_of(conn, job) is JobState.RUNNING


def test_an_expired_lease_behind_many_live_ones_is_found_in_one_sweep(conn: Connection[Any], dsn: str) -> None:
    conn.execute("""
        INSERT INTO howdah.jobs (kind, state, attempt, worker, claimed_at, lease_expires_at)
        SELECT 'k', 'running', 1, 'w', howdah.clock(), howdah.clock() + interval '1 h' FROM generate_series(1, 5000)
    """)
    job = make_job(conn, "running", lease_expired=True)
    with Client(dsn) as client:
        assert client.reap(limit=100) == Reaped(retried=1)
    assert state_of(conn, job) is JobState.SCHEDULED


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_every_expired_lease_is_settled_whatever_the_limit(conn: Connection[Any], dsn: str, limit: int) -> None:
    for _ in range(7):
        make_job(conn, "running", lease_expired=True)
    with Client(dsn) as client:
        assert client.reap(limit=limit) == Reaped(retried=7)


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_rows_that_cannot_be_settled_do_not_stop_the_others(
    cloned: Client, cloned_dsn: str, caplog: pytest.LogCaptureFixture, limit: int
) -> None:
    with psycopg.connect(cloned_dsn, autocommit=True) as conn:
        conn.execute(
            "ALTER TABLE howdah.jobs ADD CONSTRAINT never_scheduled CHECK (kind <> 'bad' OR state <> 'scheduled')"
        )
        bad = [make_job(conn, "running", kind="bad", lease_expired=True) for _ in range(3)]
        good = [make_job(conn, "running", lease_expired=True) for _ in range(5)]
        with caplog.at_level(logging.ERROR, "howdah.sweep"):
            assert cloned.reap(limit=limit) == Reaped(retried=5)
        assert [state_of(conn, job) for job in bad + good] == [JobState.RUNNING] * 3 + [JobState.SCHEDULED] * 5
    assert len(caplog.records) >= 3


def test_a_lease_that_ends_in_days_was_written_by_a_clock_that_stepped_back(conn: Connection[Any]) -> None:
    job = make_job(conn, "running")
    conn.execute("UPDATE howdah.jobs SET lease_expires_at = howdah.clock() + interval '26 h'")
    assert run(conn, sweeping.reap(10)).retried == 1
    assert state_of(conn, job) is JobState.SCHEDULED


def test_expiring_promoting_and_reaping_skip_what_is_locked(conn: Connection[Any], connect: Connect) -> None:
    late = make_job(conn, expires_at="2000-01-01")
    due = make_job(conn, "scheduled", run_at="2000-01-01")
    with held(connect) as holder:
        for job in (late, due):
            holder.execute(LOCK, [job])
        assert (run(conn, sweeping.expire(10)), run(conn, sweeping.promote(10))) == (0, 0)
    assert (run(conn, sweeping.expire(10)), run(conn, sweeping.promote(10))) == (1, 1)


def test_jobs_are_promoted_in_the_order_in_which_they_are_due(conn: Connection[Any]) -> None:
    order = [make_job(conn, "scheduled", run_at=f"2000-01-01 00:00:{second:02}") for second in range(59, -1, -1)]
    conn.execute("ANALYZE howdah.jobs")
    assert run(conn, sweeping.promote(100)) == 60
    assert [job.id for job in claim(conn)] == order[::-1]


def test_a_crashed_jobs_budget_ends_at_its_cap(conn: Connection[Any]) -> None:
    enqueue(conn, max_attempts=2)
    states = []
    for _ in range(2):
        (job,) = claim(conn)
        if job.needs_start:
            conn.execute("UPDATE howdah.jobs SET started_at = howdah.clock()")
        expire_lease(conn, job.id)
        run(conn, sweeping.reap(10))
        states.append(state_of(conn, job.id))
        conn.execute("UPDATE howdah.jobs SET run_at = howdah.clock()")
        run(conn, sweeping.promote(10))
    assert states == [JobState.SCHEDULED, JobState.DISCARDED]
