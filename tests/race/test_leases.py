"""Leases: one locked row costs nobody else anything, an expired one is never revived, the start is given once."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from howdah.model.errors import LeaseLost
from howdah.model.job import JobState, Lease
from howdah.model.lease import Busy, Extended, Extension, Lost
from howdah.model.outcome import Event, Report
from howdah.store import claiming, settling, sweeping
from tests.support.held import Connect, background, held, together, wait_until, wait_until_blocked
from tests.support.jobs import claim, enqueue, expire_lease, fetch, lease_of, make_job, run, state_of

LOCK = "SELECT FROM howdah.jobs WHERE id = %s FOR UPDATE"


def expire_soon(conn: Connection[Any], job: int) -> None:
    conn.execute("UPDATE howdah.jobs SET lease_expires_at = howdah.clock() + interval '0.4 s' WHERE id = %s", [job])


def wait_for_expiry(conn: Connection[Any], job: int) -> None:
    past = "SELECT lease_expires_at <= howdah.clock() FROM howdah.jobs WHERE id = %s"
    wait_until(lambda: conn.execute(past, [job]).fetchone() == (True,), what="the lease's end")


def test_one_locked_row_does_not_keep_the_other_leases_from_being_extended(
    conn: Connection[Any], connect: Connect
) -> None:
    leases = [lease_of(conn, make_job(conn, "running")) for _ in range(50)]
    with held(connect) as holder:
        holder.execute(LOCK, [leases[24].job_id])
        answers = run(conn, claiming.extend_many([Extension(lease, 7200) for lease in leases]))
    assert answers.pop(24) == Busy(leases.pop(24))
    assert [type(answer) for answer in answers] == [Extended] * 49
    for lease, answer in zip(leases, answers, strict=True):
        assert isinstance(answer, Extended)
        assert answer.expires_at == fetch(conn, lease.job_id)["lease_expires_at"] > lease.expires_at


def test_an_extension_never_shortens_a_lease(conn: Connection[Any]) -> None:
    lease = lease_of(conn, make_job(conn, "running"))
    assert run(conn, claiming.extend(lease, 1)) == lease
    (answer,) = run(conn, claiming.extend_many([Extension(lease, 1)]))
    assert answer == Extended(lease, lease.expires_at)


def test_an_expired_lease_is_not_extended(conn: Connection[Any]) -> None:
    job = make_job(conn, "running", lease_expired=True)
    lease = lease_of(conn, job)
    with pytest.raises(LeaseLost) as loss:
        run(conn, claiming.extend(lease, 60))
    assert loss.value.reason == "expired"
    assert run(conn, claiming.extend_many([Extension(lease, 60)])) == [Lost(lease, "expired")]
    assert lease_of(conn, job) == lease


def test_an_extension_that_waited_past_the_expiry_does_not_revive_the_lease(
    conn: Connection[Any], connect: Connect
) -> None:
    job = make_job(conn, "running")
    expire_soon(conn, job)
    lease, other = lease_of(conn, job), connect()
    with held(connect) as holder:
        holder.execute(LOCK, [job])
        waiting = background(lambda: run(other, claiming.extend(lease, 60)))
        wait_until_blocked(conn, other.info.backend_pid)
        wait_for_expiry(conn, job)
    assert isinstance(waiting.error(), LeaseLost)
    assert lease_of(conn, job) == lease


def test_a_start_that_waited_past_the_expiry_is_refused(conn: Connection[Any], connect: Connect) -> None:
    job = make_job(conn, "running", needs_start=True)
    expire_soon(conn, job)
    lease, other = lease_of(conn, job), connect()
    with held(connect) as holder:
        holder.execute(LOCK, [job])
        waiting = background(lambda: run(other, claiming.start(lease)))
        wait_until_blocked(conn, other.info.backend_pid)
        wait_for_expiry(conn, job)
    assert isinstance(waiting.error(), LeaseLost)
    assert fetch(conn, job)["started_at"] is None


def test_a_lease_whose_row_is_held_past_its_end_is_lost_and_no_longer_busy(
    conn: Connection[Any], connect: Connect
) -> None:
    job = make_job(conn, "running")
    expire_soon(conn, job)
    lease = lease_of(conn, job)
    with held(connect) as holder:
        holder.execute(LOCK, [job])
        assert run(conn, claiming.extend_many([Extension(lease, 60)])) == [Busy(lease)]
        wait_for_expiry(conn, job)
        assert run(conn, claiming.extend_many([Extension(lease, 60)])) == [Lost(lease, "expired")]
    assert run(conn, claiming.extend_many([Extension(lease, 60)])) == [Lost(lease, "expired")]
    assert lease_of(conn, job) == lease


def test_an_extension_that_waited_for_an_extension_succeeds(conn: Connection[Any], connect: Connect) -> None:
    lease, other = lease_of(conn, make_job(conn, "running")), connect()
    with held(connect) as holder:
        run(holder, claiming.extend(lease, 7200))
        waiting = background(lambda: run(other, claiming.extend(lease, 10_000)))
        wait_until_blocked(conn, other.info.backend_pid)
    assert waiting.result().expires_at == fetch(conn, lease.job_id)["lease_expires_at"]


def test_extending_and_settling_the_same_leases_never_deadlock(conn: Connection[Any], connect: Connect) -> None:
    jobs = [make_job(conn, "running", subject=f"s{n}" if n % 2 else None) for n in range(200)]
    leases = [lease_of(conn, job) for job in jobs]
    chance = random.Random(1)

    def extend(own: Connection[Any]) -> None:
        for _ in range(15):
            some = chance.sample(leases, 150)
            run(own, claiming.extend_many([Extension(lease, 7200) for lease in some]))

    def settle(own: Connection[Any]) -> None:
        for _ in range(15):
            some = chance.sample(leases, 100)
            reports = [(lease, Report(Event.COMPLETE)) for lease in some]
            with own.transaction(force_rollback=True):
                run(own, settling.settle_reports(reports, plain=jobs))

    calls = [partial(extend, connect()) for _ in range(2)] + [partial(settle, connect()) for _ in range(3)]
    assert together(*calls) == [None] * 5


def test_an_expired_lease_cannot_be_started(conn: Connection[Any]) -> None:
    job = make_job(conn, "running", needs_start=True, lease_expired=True)
    with pytest.raises(LeaseLost):
        run(conn, claiming.start(lease_of(conn, job)))


def test_of_two_that_start_one_lease_exactly_one_may_begin(conn: Connection[Any], connect: Connect) -> None:
    for _ in range(10):
        lease = lease_of(conn, make_job(conn, "running", needs_start=True))
        answers = together(*(partial(run, connect(), claiming.start(lease)) for _ in range(3)))
        assert sorted(type(answer).__name__ for answer in answers) == ["Lease", "LeaseLost", "LeaseLost"]


def test_a_second_start_that_waited_for_the_first_is_refused(conn: Connection[Any], connect: Connect) -> None:
    lease, other = lease_of(conn, make_job(conn, "running", needs_start=True)), connect()
    with held(connect) as holder:
        run(holder, claiming.start(lease))
        waiting = background(lambda: run(other, claiming.start(lease)))
        wait_until_blocked(conn, other.info.backend_pid)
    assert isinstance(waiting.error(), LeaseLost)


@pytest.mark.parametrize(
    ("role_says", "at_commit"),
    [("off", "on"), ("local", "on"), ("remote_write", "on"), ("on", "on"), ("remote_apply", "remote_apply")],
)
def test_a_start_is_durable_whatever_the_role_says_and_leaves_its_setting(
    cloned_dsn: str, role_says: str, at_commit: str
) -> None:
    with psycopg.connect(cloned_dsn, autocommit=True) as conn:
        conn.execute("""
            CREATE TABLE public.seen AS SELECT ''::text AS setting WHERE false;
            CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO public.seen SELECT current_setting('synchronous_commit');
                RETURN NULL;
            END $$;
            CREATE CONSTRAINT TRIGGER look AFTER UPDATE ON howdah.jobs DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION public.look()
        """)
        conn.execute(f"ALTER DATABASE {conn.info.dbname} SET synchronous_commit = '{role_says}'")
        lease = lease_of(conn, make_job(conn, "running", needs_start=True))
    with psycopg.connect(cloned_dsn, autocommit=True) as conn:
        run(conn, claiming.start(lease))
        assert conn.execute("SELECT setting FROM public.seen").fetchall() == [(at_commit,)]
        assert conn.execute("SHOW synchronous_commit").fetchone() == (role_says,)


def test_whoever_crashed_once_uses_the_start_step_from_then_on(conn: Connection[Any]) -> None:
    enqueue(conn)
    (job,) = claim(conn)
    assert not job.needs_start
    expire_lease(conn, job.id)
    run(conn, sweeping.reap(10))
    conn.execute("UPDATE howdah.jobs SET run_at = howdah.clock()")
    run(conn, sweeping.promote(10))
    (again,) = claim(conn)
    assert (again.id, again.needs_start, again.attempt) == (job.id, True, 2)
    expire_lease(conn, again.id)
    run(conn, sweeping.reap(10))
    row = fetch(conn, job.id)
    assert (row["state"], row["crashes"], row["excused"]) == (JobState.AVAILABLE, 1, 1)


def test_an_extension_with_a_stale_token_says_why(conn: Connection[Any]) -> None:
    job = make_job(conn, "running", attempt=2)
    current = lease_of(conn, job)
    stale = Lease(job, 1, "w", current.expires_at)
    missing = Lease(2**60, 1, "w", current.expires_at)
    run(conn, claiming.extend_many([Extension(current, 60)]))
    assert run(conn, claiming.extend_many([Extension(stale, 60), Extension(missing, 60)])) == [
        Lost(stale, "taken"),
        Lost(missing, "pruned"),
    ]
    assert state_of(conn, job) is JobState.RUNNING
