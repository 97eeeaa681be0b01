"""At most one live job per key, whoever enqueues and finishes at the same time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import psycopg
import pytest
from psycopg import Connection, IsolationLevel

from howdah.model.errors import InvalidTransition
from howdah.model.job import JobState, NewJob
from howdah.model.outcome import Event
from howdah.store import enqueueing, jobs
from tests.support.held import Connect, background, held, together, wait_until_blocked
from tests.support.jobs import claim, enqueue, lease_of, make_job, report, run, state_of


def test_an_enqueue_waits_for_an_uncommitted_twin_and_gives_its_id(conn: Connection[Any], connect: Connect) -> None:
    other = connect()
    with held(connect) as holder:
        twin = enqueue(holder, key="K")
        waiting = background(lambda: enqueue(other, key="K"))
        wait_until_blocked(conn, other.info.backend_pid)
    assert (waiting.result().id, waiting.result().created) == (twin.id, False)


def test_an_enqueue_creates_the_job_when_its_twin_is_rolled_back(conn: Connection[Any], connect: Connect) -> None:
    holder, other = connect(autocommit=False), connect()
    twin = enqueue(holder, key="K")
    waiting = background(lambda: enqueue(other, key="K"))
    wait_until_blocked(conn, other.info.backend_pid)
    holder.rollback()
    assert waiting.result().created
    assert waiting.result().id != twin.id
    assert state_of(conn, waiting.result().id) is JobState.AVAILABLE


@pytest.mark.parametrize(("key_for", "created"), [(3600.0, False), (0.0, True), (None, True)])
def test_an_enqueue_during_a_completion_answers_by_the_window(
    conn: Connection[Any], connect: Connect, key_for: float | None, created: bool
) -> None:
    first = enqueue(conn, key="K", key_for=key_for)
    lease = claim(conn)[0].lease
    other = connect()
    with held(connect) as holder:
        report(holder, lease, Event.COMPLETE)
        waiting = background(lambda: enqueue(other, key="K", key_for=key_for))
        wait_until_blocked(conn, other.info.backend_pid)
    assert waiting.result().created is created
    assert (waiting.result().id == first.id) is not created


def test_an_enqueue_during_a_completion_that_is_rolled_back_finds_the_live_job(
    conn: Connection[Any], connect: Connect
) -> None:
    first = enqueue(conn, key="K", key_for=3600.0)
    lease = claim(conn)[0].lease
    holder, other = connect(autocommit=False), connect()
    report(holder, lease, Event.COMPLETE)
    waiting = background(lambda: enqueue(other, key="K"))
    wait_until_blocked(conn, other.info.backend_pid)
    holder.rollback()
    assert (waiting.result().id, waiting.result().created) == (first.id, False)


def test_a_window_that_is_over_is_taken_by_exactly_one(conn: Connection[Any], connect: Connect) -> None:
    for key in (f"K{n}" for n in range(5)):
        conn.execute(
            "INSERT INTO howdah.keys (kind, key, job_id, key_for, free_at)"
            " VALUES ('k', %s, 1, 60, howdah.clock() - interval '1 s')",
            [key],
        )
        answers = together(*(partial(enqueue, connect(), key=key) for _ in range(4)))
        assert sorted(answer.created for answer in answers) == [False, False, False, True]
        assert len({answer.id for answer in answers}) == 1


def test_a_duplicate_held_open_by_a_user_does_not_delay_the_completion(
    conn: Connection[Any], connect: Connect, impatient: Callable[[], Connection[Any]]
) -> None:
    job = enqueue(conn, key="K")
    lease = claim(conn)[0].lease
    with held(connect) as holder:
        assert not enqueue(holder, key="K").created
        assert report(impatient(), lease, Event.COMPLETE) is JobState.COMPLETED
    assert enqueue(conn, key="K").id != job.id


def test_batches_with_the_same_keys_in_opposite_orders_do_not_deadlock(conn: Connection[Any], connect: Connect) -> None:
    first, second = connect(), connect()
    for n in range(20):
        keys = [f"{n}-{name}" for name in "ABCD"]
        batches = [[NewJob("k", "{}", key=key) for key in order] for order in (keys, keys[::-1])]
        answers = together(
            partial(run, first, enqueueing.enqueue_many(batches[0])),
            partial(run, second, enqueueing.enqueue_many(batches[1])),
        )
        assert not [answer for answer in answers if isinstance(answer, BaseException)]
        forwards, backwards = answers
        assert [job.id for job in forwards] == [job.id for job in backwards][::-1]
        assert [a.created + b.created for a, b in zip(forwards, backwards[::-1], strict=True)] == [1] * 4


def test_under_contention_a_key_has_never_two_live_jobs(conn: Connection[Any], connect: Connect) -> None:
    def produce(own: Connection[Any]) -> None:
        for n in range(40):
            with own.transaction():
                enqueue(own, key=f"K{n % 3}", key_for=(None, 0.0, 0.001)[n % 3])

    def finish(own: Connection[Any]) -> None:
        for _ in range(60):
            for job in claim(own, 2):
                report(own, job.lease, Event.COMPLETE)
            twice = own.execute("SELECT key FROM howdah.jobs GROUP BY kind, key HAVING count(*) > 1").fetchall()
            assert not twice

    calls = [partial(produce, connect()) for _ in range(3)] + [partial(finish, connect()) for _ in range(2)]
    assert together(*calls) == [None] * 5


def test_above_read_committed_a_newer_duplicate_raises_40001_and_nothing_else_does(
    conn: Connection[Any], connect: Connect
) -> None:
    user = connect(autocommit=False)
    user.isolation_level = IsolationLevel.REPEATABLE_READ
    older = make_job(conn, subject="s")
    user.execute("SELECT 1")
    conn.execute("UPDATE howdah.jobs SET priority = 1 WHERE id = %s", [older])  # after the snapshot
    enqueue(conn, key="K")
    enqueue(user, key="another", subject="s")
    with pytest.raises(psycopg.errors.SerializationFailure):
        enqueue(user, key="K")
    user.rollback()
    assert state_of(conn, older) is JobState.AVAILABLE


def test_a_job_whose_key_another_live_job_holds_cannot_be_requeued(conn: Connection[Any]) -> None:
    job = enqueue(conn, key="K").id
    report(conn, claim(conn)[0].lease, Event.COMPLETE)
    other = enqueue(conn, key="K").id
    with pytest.raises(InvalidTransition):
        run(conn, jobs.requeue(job))
    report(conn, lease_of(conn, claim(conn)[0].id), Event.COMPLETE)
    assert run(conn, jobs.requeue(job)).state is JobState.AVAILABLE
    assert (enqueue(conn, key="K").id, other != job) == (job, True)
