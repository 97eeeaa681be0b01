"""A worker of one's own: claim, start, extend, settle."""

from typing import Any, assert_type

import psycopg

from howdah import (
    ClaimedJob,
    Client,
    Complete,
    Fail,
    JobNotClaimable,
    JobState,
    Lease,
    LeaseLost,
    Outcome,
    Reaped,
    Snooze,
)


def attempt(claimed: ClaimedJob) -> Outcome:
    args: dict[str, Any] = claimed.args
    if claimed.attempt < claimed.max_attempts and not args:
        return Snooze(5)
    return Complete(args) if args else Fail("nothing to do")


def work(client: Client) -> list[LeaseLost]:
    outcomes: list[tuple[Lease, Outcome]] = []
    for claimed in client.claim(["mail", "default"], limit=50, worker="me", lease=30):
        lease = client.start(claimed.lease) if claimed.needs_start else claimed.lease
        outcomes.append((client.extend(lease, 60), attempt(claimed)))
    return client.settle_many(outcomes)


def one(client: Client, job_id: int) -> None:
    try:
        claimed = client.claim_job(job_id, worker="me")
    except JobNotClaimable as error:
        print(error.state, error.worker, error.lease_expires_at)
        return
    lease = claimed.lease
    travelled = Lease(lease.job_id, lease.token, worker=lease.worker, expires_at=lease.expires_at)
    try:
        with psycopg.connect() as connection:
            assert_type(client.complete(travelled, {"ok": True}, on=connection), JobState)
    except LeaseLost as lost:
        print(lost.lease.job_id, lost.state)
        if lost.reason == "superseded":
            raise


def other_reports(client: Client, lease: Lease) -> None:
    assert_type(client.fail(lease, "broken", retry_in=5), JobState)
    assert_type(client.fail(lease, ValueError("broken"), permanent=True), JobState)
    assert_type(client.snooze(lease, 5), JobState)
    assert_type(client.release(lease, "stopping", excused=True), JobState)
    assert_type(client.reap(limit=10), Reaped)
