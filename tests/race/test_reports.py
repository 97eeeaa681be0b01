"""Reports: repeated they are answered as before, stale they change nothing, late they meet the reaper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from psycopg import Connection

from howdah.model.errors import LeaseLost
from howdah.model.job import JobState, Lease, Reaped
from howdah.model.lease import Extension, Lost
from howdah.model.outcome import Event, Report
from howdah.store import claiming, jobs, settling, sweeping
from tests.support.held import Connect, background, held, wait_until_blocked
from tests.support.jobs import (
    claim,
    enqueue,
    everything,
    expire_lease,
    fetch,
    lease_of,
    make_job,
    make_kind,
    report,
    run,
    state_of,
)

REPORTS = {
    "complete": Report(Event.COMPLETE, result='{"a": 1}'),
    "fail": Report(Event.FAIL),
    "fail for good": Report(Event.FAIL, permanent=True),
    "snooze": Report(Event.SNOOZE, delay=60, excused=True),
    "release": Report(Event.RELEASE, excused=True),
    "release, counted": Report(Event.RELEASE),
    "cancel": Report(Event.CANCEL),
    "discard": Report(Event.DISCARD),
}


def settle(conn: Connection[Any], lease: Lease, said: Report, *, plain: bool = False) -> JobState | LeaseLost:
    (answer,) = run(conn, settling.settle_reports([(lease, said)], plain=[lease.job_id] if plain else []))
    return answer


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("name", REPORTS)
def test_a_repeated_report_gets_the_same_answer_and_changes_nothing(
    conn: Connection[Any], name: str, plain: bool
) -> None:
    lease = lease_of(conn, make_job(conn, "running"))
    first = settle(conn, lease, REPORTS[name], plain=plain)
    assert isinstance(first, JobState)
    before = everything(conn)
    assert settle(conn, lease, REPORTS[name], plain=plain) is first
    assert everything(conn) == before


@pytest.mark.parametrize("name", ["fail", "snooze"])
def test_a_repeat_after_the_promotion_is_answered_as_the_first_time(conn: Connection[Any], name: str) -> None:
    lease = lease_of(conn, make_job(conn, "running"))
    assert settle(conn, lease, REPORTS[name]) is JobState.SCHEDULED
    conn.execute("UPDATE howdah.jobs SET run_at = howdah.clock()")
    run(conn, sweeping.promote(10))
    assert settle(conn, lease, REPORTS[name]) is JobState.SCHEDULED


@pytest.mark.parametrize("other", REPORTS)
@pytest.mark.parametrize("name", REPORTS)
def test_another_report_of_a_settled_attempt_is_refused(conn: Connection[Any], name: str, other: str) -> None:
    lease = lease_of(conn, make_job(conn, "running"))
    settle(conn, lease, REPORTS[name])
    before = everything(conn)
    answer = settle(conn, lease, REPORTS[other])
    if REPORTS[other].event is not REPORTS[name].event:
        assert isinstance(answer, LeaseLost)
    assert everything(conn) == before


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("name", REPORTS)
def test_a_stale_report_changes_no_row_of_any_table(conn: Connection[Any], name: str, plain: bool) -> None:
    enqueue(conn, **({} if plain else {"key": "K", "subject": "s"}))
    stale = claim(conn)[0].lease
    report(conn, stale, Event.RELEASE, excused=True)
    current = claim(conn)[0].lease
    before = everything(conn)
    answer = settle(conn, stale, REPORTS[name], plain=plain)
    assert isinstance(answer, LeaseLost)
    assert (answer.reason, answer.state) == ("taken", JobState.RUNNING)
    with pytest.raises(LeaseLost, match="another worker has claimed"):
        run(conn, claiming.extend(stale, 60))
    with pytest.raises(LeaseLost, match="another worker has claimed"):
        run(conn, claiming.start(stale))
    assert run(conn, claiming.extend_many([Extension(stale, 60, '{"n": 1}')])) == [Lost(stale, "taken")]
    assert everything(conn) == before
    assert report(conn, current, Event.COMPLETE) is JobState.COMPLETED


def reap(conn: Connection[Any], lease: Lease) -> None:
    expire_lease(conn, lease.job_id)
    run(conn, sweeping.reap(10))


def supersede(conn: Connection[Any], lease: Lease) -> None:
    settle(conn, lease, REPORTS["fail"])
    enqueue(conn, subject="s")


def cancel(conn: Connection[Any], lease: Lease) -> None:
    settle(conn, lease, REPORTS["fail"])
    run(conn, jobs.cancel(lease.job_id))


def prune(conn: Connection[Any], lease: Lease) -> None:
    conn.execute("DELETE FROM howdah.jobs")


@pytest.mark.parametrize(
    ("meanwhile", "reason"),
    [(reap, "expired"), (supersede, "superseded"), (cancel, "cancelled"), (prune, "pruned")],
)
def test_a_refusal_says_what_has_become_of_the_job(
    conn: Connection[Any], meanwhile: Callable[[Connection[Any], Lease], None], reason: str
) -> None:
    lease = lease_of(conn, make_job(conn, "running", subject="s"))
    meanwhile(conn, lease)
    answer = settle(conn, lease, REPORTS["complete"])
    assert isinstance(answer, LeaseLost)
    assert answer.reason == reason


def test_a_zombie_is_not_told_completed_by_what_a_person_has_resolved(conn: Connection[Any]) -> None:
    job = make_job(conn, "unknown")
    lease = lease_of(conn, job)
    run(conn, jobs.resolve(job, JobState.COMPLETED, "looked"))
    answer = settle(conn, lease, REPORTS["complete"])
    assert isinstance(answer, LeaseLost)
    assert answer.reason == "finished"


def test_a_completion_after_the_expiry_counts_as_long_as_nobody_has_reaped(conn: Connection[Any]) -> None:
    lease = lease_of(conn, make_job(conn, "running", lease_expired=True))
    assert settle(conn, lease, REPORTS["complete"]) is JobState.COMPLETED
    assert run(conn, sweeping.reap(10)) == Reaped()


@pytest.mark.parametrize("plain", [True, False])
def test_a_completion_that_waited_for_the_reap_is_refused(conn: Connection[Any], connect: Connect, plain: bool) -> None:
    job = make_job(conn, "running", lease_expired=True)
    lease, other = lease_of(conn, job), connect()
    with held(connect) as reaper:
        assert run(reaper, sweeping.reap(10)).retried == 1
        waiting = background(lambda: settle(other, lease, REPORTS["complete"], plain=plain))
        wait_until_blocked(conn, other.info.backend_pid)
    answer = waiting.result()
    assert isinstance(answer, LeaseLost)
    assert (answer.reason, state_of(conn, job)) == ("expired", JobState.SCHEDULED)


def test_a_reaper_skips_what_is_being_completed(conn: Connection[Any], connect: Connect) -> None:
    job = make_job(conn, "running", lease_expired=True)
    with held(connect) as worker:
        assert settle(worker, lease_of(conn, job), REPORTS["complete"]) is JobState.COMPLETED
        assert run(conn, sweeping.reap(10)) == Reaped()
    assert run(conn, sweeping.reap(10)) == Reaped()
    assert (fetch(conn, job)["state"], fetch(conn, job)["crashes"]) == ("completed", 0)


def test_a_rolled_back_completion_leaves_the_job_to_the_reaper(conn: Connection[Any], connect: Connect) -> None:
    job = make_job(conn, "running", lease_expired=True)
    worker = connect(autocommit=False)
    settle(worker, lease_of(conn, job), REPORTS["complete"])
    worker.rollback()
    assert run(conn, sweeping.reap(10)).retried == 1


@pytest.mark.parametrize("plain", [True, False])
def test_a_batch_that_waited_for_an_extension_completes_every_job(
    conn: Connection[Any], connect: Connect, plain: bool
) -> None:
    """A set that is settled by the place of its rows would find them moved, and throw good work away."""
    leases = [lease_of(conn, make_job(conn, "running")) for _ in range(3)]
    reports = [(lease, REPORTS["complete"]) for lease in leases]
    other = connect()
    with held(connect) as keeper:
        run(keeper, claiming.extend_many([Extension(leases[1], 7200)]))
        known = [lease.job_id for lease in leases] if plain else []
        waiting = background(lambda: run(other, settling.settle_reports(reports, plain=known)))
        wait_until_blocked(conn, other.info.backend_pid)
    assert waiting.result() == [JobState.COMPLETED] * 3
    rows = conn.execute("SELECT state, lease_expires_at FROM howdah.history").fetchall()
    assert rows == [("completed", None)] * 3


def test_a_late_report_on_a_parked_job_is_kept_once_as_evidence_and_changes_no_state(conn: Connection[Any]) -> None:
    make_kind(conn, on_crash="unknown")
    enqueue(conn)
    (job,) = claim(conn)
    run(conn, claiming.start(job.lease))
    expire_lease(conn, job.id)
    assert run(conn, sweeping.reap(10)).unknown == 1
    before = fetch(conn, job.id)
    for _ in range(3):
        answer = settle(conn, job.lease, REPORTS["complete"])
        assert isinstance(answer, LeaseLost)
        assert (answer.reason, answer.state) == ("expired", JobState.UNKNOWN)
    after = fetch(conn, job.id)
    crashed, late = after.pop("errors")
    assert ([crashed], after) == (before.pop("errors"), before)
    assert (late["event"], late["type"], late["worker"], late["attempt"]) == ("late", "complete", "w", 1)
    assert '{"a": 1}' in late["message"]
    settle(conn, job.lease, REPORTS["fail"])
    assert [error["type"] for error in fetch(conn, job.id)["errors"]] == ["LeaseExpired", "complete", "fail"]


def test_one_batch_may_hold_a_report_twice(conn: Connection[Any]) -> None:
    lease = lease_of(conn, make_job(conn, "running"))
    twice = [(lease, REPORTS["fail"]), (lease, REPORTS["fail"]), (lease, REPORTS["complete"])]
    first, second, third = run(conn, settling.settle_reports(twice, plain=[lease.job_id]))
    assert (first, second) == (JobState.SCHEDULED, JobState.SCHEDULED)
    assert isinstance(third, LeaseLost)
