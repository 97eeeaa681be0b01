"""Claims: nobody gets a job twice, nobody gets more than he asked for, queues come in the order given."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from psycopg import Connection

from howdah import Client
from howdah.model.errors import JobNotClaimable, JobNotFound
from howdah.model.job import JobState
from howdah.model.outcome import Event
from howdah.store import claiming
from tests.support.held import Connect, background, held, together, wait_until_blocked
from tests.support.jobs import PAST, claim, enqueue, fetch, make_job, make_kind, report, run, state_of


def fill(conn: Connection[Any], count: int, **columns: Any) -> None:
    names, values = ", ".join(columns), ", ".join(["%s"] * len(columns))
    conn.execute(
        f"INSERT INTO howdah.jobs (kind, {names}) SELECT 'k', {values} FROM generate_series(1, {count})",
        list(columns.values()),
    )


def claimable_by_another(conn: Connection[Any]) -> int:
    """How many available rows nobody has locked."""
    with conn.transaction(force_rollback=True):
        query = "SELECT id FROM howdah.jobs WHERE state = 'available' FOR UPDATE SKIP LOCKED"
        return len(conn.execute(query).fetchall())


def test_no_job_is_claimed_twice_by_eight_claimers(conn: Connection[Any], connect: Connect) -> None:
    fill(conn, 500, queue="default")

    def claim_all(own: Connection[Any]) -> list[int]:
        mine = []
        while jobs := claim(own, 7):
            mine += [job.id for job in jobs]
        return mine

    answers = together(*(partial(claim_all, connect()) for _ in range(8)))
    claimed = [job for mine in answers for job in mine]
    assert len(claimed) == len(set(claimed)) == 500
    assert conn.execute("SELECT DISTINCT state, attempt FROM howdah.jobs").fetchall() == [("running", 1)]


def test_of_two_that_claim_one_job_the_other_is_told_who_has_it(client: Client, conn: Connection[Any]) -> None:
    for _ in range(10):
        job = enqueue(conn).id
        answers = together(*(partial(client.claim_job, job, worker=w) for w in ("a", "b")))
        (won,) = (answer for answer in answers if not isinstance(answer, BaseException))
        (lost,) = (answer for answer in answers if isinstance(answer, JobNotClaimable))
        assert (lost.state, lost.worker) == (JobState.RUNNING, won.lease.worker)
        assert lost.lease_expires_at == won.lease.expires_at == fetch(conn, job)["lease_expires_at"]


def test_a_claim_by_id_waits_for_a_claim_that_is_rolled_back(conn: Connection[Any], connect: Connect) -> None:
    job = enqueue(conn).id
    first, second = connect(autocommit=False), connect()
    claim(first)
    waiting = background(lambda: run(second, claiming.claim_job(job, worker="b")))
    wait_until_blocked(conn, second.info.backend_pid)
    first.rollback()
    assert (waiting.result().id, waiting.result().attempt) == (job, 1)


def test_a_claim_by_id_that_waited_for_a_cancellation_is_refused(conn: Connection[Any], connect: Connect) -> None:
    job = enqueue(conn).id
    second = connect()
    with held(connect) as operator:
        operator.execute("UPDATE howdah.jobs SET state = 'scheduled' WHERE id = %s", [job])
        waiting = background(lambda: run(second, claiming.claim_job(job, worker="b")))
        wait_until_blocked(conn, second.info.backend_pid)
    assert isinstance(waiting.error(), JobNotClaimable)
    assert fetch(conn, job)["attempt"] == 0


def test_an_id_that_nobody_has_is_not_found(client: Client) -> None:
    with pytest.raises(JobNotFound):
        client.claim_job(2**60, worker="w")


def test_a_job_too_late_to_start_is_refused_and_ends_expired(client: Client, conn: Connection[Any]) -> None:
    job = make_job(conn, expires_at=PAST)
    with pytest.raises(JobNotClaimable) as refusal:
        client.claim_job(job, worker="w")
    assert (refusal.value.state, refusal.value.worker) == (JobState.EXPIRED, None)


def test_queues_come_in_the_order_given_each_by_priority_then_age(conn: Connection[Any]) -> None:
    expected = {}
    for queue in ("b", "a"):
        jobs = [(priority, make_job(conn, queue=queue, priority=priority)) for priority in (5, 0, -5, 0)]
        expected[queue] = [job for _, job in sorted(jobs, key=lambda pair: pair[0])]
    claimed = run(conn, claiming.claim({"b": 10, "empty": 10, "a": 10}, 10, worker="w"))
    assert [job.id for job in claimed] == expected["b"] + expected["a"]


@pytest.mark.parametrize(
    ("quotas", "limit", "per_queue"),
    [
        ({"a": 100, "b": 100}, 15, {"a": 15}),
        ({"a": 4, "b": 100}, 15, {"a": 4, "b": 11}),
        ({"none": 50, "b": 3, "a": 3}, 15, {"b": 3, "a": 3}),
        ({"a": 100, "b": 100, "c": 100}, 45, {"a": 20, "b": 20, "c": 5}),
    ],
)
def test_limit_and_quotas_are_kept_exactly_and_nothing_more_is_locked(
    conn: Connection[Any], connect: Connect, quotas: dict[str, int], limit: int, per_queue: dict[str, int]
) -> None:
    for queue in "abc":
        fill(conn, 20, queue=queue)
    with held(connect) as claimer:
        claimed = run(claimer, claiming.claim(quotas, limit, worker="w"))
        free = claimable_by_another(conn)
    counts = {queue: sum(job.queue == queue for job in claimed) for queue in per_queue}
    assert counts == per_queue
    assert free == 60 - len(claimed) == 60 - sum(per_queue.values())


def test_of_a_paused_queue_nothing_is_claimed_or_locked(
    client: Client, conn: Connection[Any], connect: Connect
) -> None:
    fill(conn, 5, queue="paused")
    fill(conn, 5, queue="open")
    client.pause("paused")
    with held(connect) as claimer:
        claimed = run(claimer, claiming.claim({"paused": 10, "open": 3}, 10, worker="w"))
        assert claimable_by_another(conn) == 7
    assert {job.queue for job in claimed} == {"open"}
    client.resume("paused")
    assert len(run(conn, claiming.claim({"paused": 10}, 10, worker="w"))) == 5


def test_a_claim_passes_over_what_others_hold_and_takes_the_next(conn: Connection[Any], connect: Connect) -> None:
    first, second, third = (enqueue(conn).id for _ in range(3))
    with held(connect) as holder:
        holder.execute("SELECT FROM howdah.jobs WHERE id = %s FOR UPDATE", [first])
        assert [job.id for job in claim(conn, 1)] == [second]
    assert [job.id for job in claim(conn)] == [first, third]


def test_a_claim_that_is_rolled_back_leaves_the_job_and_its_number(conn: Connection[Any], connect: Connect) -> None:
    job = enqueue(conn).id
    claimer = connect(autocommit=False)
    assert claim(claimer)[0].attempt == 1
    claimer.rollback()
    assert (state_of(conn, job), claim(conn)[0].attempt) == (JobState.AVAILABLE, 1)


def test_a_job_that_becomes_available_again_goes_to_the_end_of_its_queue(conn: Connection[Any]) -> None:
    first, second = enqueue(conn).id, enqueue(conn).id
    report(conn, claim(conn, 1)[0].lease, Event.RELEASE, excused=True)
    assert [job.id for job in claim(conn)] == [second, first]


def test_the_lease_is_the_callers_else_the_kinds_else_a_minute(conn: Connection[Any]) -> None:
    make_kind(conn, "long", lease=600)
    for kind, lease, seconds in (("k", None, 60), ("long", None, 600), ("long", 5.0, 5)):
        enqueue(conn, kind=kind)
        (job,) = claim(conn, lease=lease)
        row = fetch(conn, job.id)
        assert (row["lease_expires_at"] - row["claimed_at"]).total_seconds() == seconds == job.lease_seconds
        assert job.lease.expires_at == row["lease_expires_at"]
