"""Only the newest of a subject counts: no lock is waited for, no write goes unseen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from psycopg import Connection

from howdah.model.errors import InvalidTransition, JobNotClaimable, LeaseLost
from howdah.model.job import JobState
from howdah.model.lease import Extended, Extension
from howdah.model.outcome import Event, Report
from howdah.store import claiming, jobs, settling
from tests.support.held import Connect, held, together
from tests.support.jobs import claim, enqueue, fetch, lease_of, make_job, make_kind, report, run, state_of


@pytest.mark.parametrize("committed_first", ["older", "newer"])
def test_of_two_overlapping_enqueues_only_the_newer_starts(
    conn: Connection[Any], connect: Connect, committed_first: str
) -> None:
    one, two = connect(autocommit=False), connect(autocommit=False)
    older, newer = enqueue(one, subject="s").id, enqueue(two, subject="s").id
    for user in (one, two) if committed_first == "older" else (two, one):
        user.commit()
    assert [state_of(conn, job) for job in (older, newer)] == [JobState.AVAILABLE] * 2
    assert [job.id for job in claim(conn)] == [newer]
    assert (fetch(conn, older)["state"], fetch(conn, older)["superseded_by"]) == ("superseded", newer)


def test_an_enqueue_supersedes_at_once_what_it_sees_in_every_unstarted_state(conn: Connection[Any]) -> None:
    older = [make_job(conn, state, subject="s") for state in ("available", "scheduled", "blocked")]
    newer = enqueue(conn, subject="s").id
    assert [(fetch(conn, job)["state"], fetch(conn, job)["superseded_by"]) for job in older] == [
        ("superseded", newer)
    ] * 3


def test_a_write_is_seen_though_a_newer_job_ran_before_its_commit(conn: Connection[Any], connect: Connect) -> None:
    user = connect(autocommit=False)
    older = enqueue(user, subject="s").id  # with a write that nobody sees yet
    newer = enqueue(conn, subject="s").id
    (running,) = claim(conn)
    assert running.id == newer
    user.commit()
    (late,) = claim(conn)  # while the newer one still runs: it may have looked before
    assert late.id == older
    assert report(conn, running.lease, Event.COMPLETE) is JobState.COMPLETED
    assert report(conn, late.lease, Event.COMPLETE) is JobState.COMPLETED


def test_a_retry_is_outdated_by_a_newer_job_that_was_claimed_after_it(conn: Connection[Any]) -> None:
    older = make_job(conn, "available", subject="s", attempt=1, claim_no=5, claimed_at="now")
    newer = make_job(conn, "completed", subject="s", claim_no=6)
    assert claim(conn) == []
    assert (fetch(conn, older)["state"], fetch(conn, older)["superseded_by"]) == ("superseded", newer)


def test_a_retry_is_not_outdated_by_a_newer_job_that_was_claimed_before_it(conn: Connection[Any]) -> None:
    older = make_job(conn, "available", subject="s", attempt=1, claim_no=6, claimed_at="now")
    make_job(conn, "completed", subject="s", claim_no=5)
    assert [job.id for job in claim(conn)] == [older]


def test_an_outdated_job_cannot_be_claimed_by_its_id(conn: Connection[Any], connect: Connect) -> None:
    with held(connect) as user:
        older = enqueue(user, subject="s").id
        enqueue(conn, subject="s")
    with pytest.raises(JobNotClaimable) as refusal:
        run(conn, claiming.claim_job(older, worker="w"))
    assert refusal.value.state is JobState.SUPERSEDED


@pytest.mark.parametrize(("on_supersede", "state"), [("cancel", "superseded"), ("finish", "completed")])
def test_a_running_job_is_told_and_ends_as_its_kind_says(conn: Connection[Any], on_supersede: str, state: str) -> None:
    make_kind(conn, on_supersede=on_supersede)
    enqueue(conn, subject="s")
    lease = claim(conn)[0].lease
    enqueue(conn, subject="s")
    (answer,) = run(conn, claiming.extend_many([Extension(lease, 60)]))
    assert isinstance(answer, Extended)
    assert answer.cancel == ("superseded" if on_supersede == "cancel" else None)
    assert report(conn, lease, Event.COMPLETE) == state


def test_an_outdated_completion_in_a_users_transaction_is_refused_so_that_he_rolls_back(
    conn: Connection[Any], connect: Connect
) -> None:
    enqueue(conn, subject="s")
    lease = claim(conn)[0].lease
    enqueue(conn, subject="s")
    user = connect(autocommit=False)
    with pytest.raises(LeaseLost) as loss:
        run(user, settling.settle_one(lease, Report(Event.COMPLETE), in_transaction=True))
    assert loss.value.reason == "superseded"
    assert state_of(conn, lease.job_id) is JobState.RUNNING


def test_two_subjects_in_opposite_orders_wait_for_nobody(
    conn: Connection[Any], impatient: Callable[[], Connection[Any]]
) -> None:
    for subject in "AB":
        make_job(conn, subject=subject)
    one, two = impatient(), impatient()
    with one.transaction(), two.transaction():
        enqueue(one, subject="A")
        enqueue(two, subject="B")
        enqueue(one, subject="B")
        enqueue(two, subject="A")
    assert sorted(job.subject or "" for job in claim(conn)) == ["A", "B"]


@pytest.mark.parametrize("state", ["running", "unknown", "available", "scheduled"])
def test_an_enqueue_waits_for_no_locked_row_of_its_subject(
    conn: Connection[Any], connect: Connect, impatient: Callable[[], Connection[Any]], state: str
) -> None:
    older = make_job(conn, state, subject="s")
    with held(connect) as holder:
        holder.execute("SELECT FROM howdah.jobs WHERE id = %s FOR UPDATE", [older])
        assert enqueue(impatient(), subject="s").created
    assert state_of(conn, older) == state


def test_an_enqueue_held_open_delays_neither_extension_nor_completion_of_the_running_job(
    conn: Connection[Any], connect: Connect, impatient: Callable[[], Connection[Any]]
) -> None:
    enqueue(conn, subject="s", key="K")
    lease = claim(conn)[0].lease
    with held(connect) as user:
        enqueue(user, subject="s")
        run(impatient(), claiming.extend(lease, 120))
        assert report(impatient(), lease, Event.COMPLETE) is JobState.COMPLETED


def test_a_held_key_decides_before_the_subject(conn: Connection[Any]) -> None:
    holder = enqueue(conn, key="K", subject="other").id
    older = enqueue(conn, subject="s").id
    answer = enqueue(conn, key="K", subject="s")
    assert (answer.id, answer.created) == (holder, False)
    assert state_of(conn, older) is JobState.AVAILABLE


def test_a_superseded_job_frees_its_key(conn: Connection[Any]) -> None:
    older = enqueue(conn, key="K", subject="s").id
    enqueue(conn, subject="s")
    assert state_of(conn, older) is JobState.SUPERSEDED
    assert enqueue(conn, key="K").created


def test_a_job_with_a_newer_unfinished_one_can_be_neither_requeued_nor_made_available(conn: Connection[Any]) -> None:
    ended = make_job(conn, "discarded", subject="s")
    parked = make_job(conn, "unknown", subject="s")
    newer = make_job(conn, subject="s")
    with pytest.raises(InvalidTransition):
        run(conn, jobs.requeue(ended))
    with pytest.raises(InvalidTransition):
        run(conn, jobs.resolve(parked, JobState.AVAILABLE, "again"))
    run(conn, jobs.cancel(newer))
    assert run(conn, jobs.resolve(parked, JobState.AVAILABLE, "again")).state is JobState.AVAILABLE


def test_no_write_goes_unseen_and_one_job_stands_for_each_subject(conn: Connection[Any], connect: Connect) -> None:
    conn.execute("CREATE UNLOGGED TABLE IF NOT EXISTS public.doc (subject text, n serial, seen boolean DEFAULT false)")
    conn.execute("TRUNCATE public.doc")

    def produce(own: Connection[Any], rollback: bool) -> None:
        for n in range(25):
            for subject in ("A", "B")[:: 1 if rollback else -1]:
                own.execute("INSERT INTO public.doc (subject) VALUES (%s)", [subject])
                enqueue(own, subject=subject)
            own.rollback() if rollback and n % 5 == 0 else own.commit()

    def work(own: Connection[Any]) -> None:
        for _ in range(60):
            for job in claim(own, 2):
                handle(own, job)

    def handle(own: Connection[Any], job: Any) -> None:
        seen = own.execute("SELECT array_agg(n) FROM public.doc WHERE subject = %s", [job.subject]).fetchone()
        if report(own, job.lease, Event.COMPLETE) is JobState.COMPLETED and seen:
            own.execute("UPDATE public.doc SET seen = true WHERE n = ANY (%s)", [seen[0]])

    producers = [partial(produce, connect(autocommit=False), rollback) for rollback in (True, False, False)]
    assert together(*producers, *(partial(work, connect()) for _ in range(2))) == [None] * 5
    for job in claim(conn):
        handle(conn, job)
    assert conn.execute("SELECT count(*) FROM howdah.jobs").fetchone() == (0,)
    assert conn.execute("SELECT count(*) FROM public.doc WHERE NOT seen").fetchone() == (0,)
    conn.execute("DROP TABLE public.doc")


def test_of_two_running_jobs_of_a_subject_the_last_claimed_completes(conn: Connection[Any]) -> None:
    older, newer = (
        make_job(conn, "running", subject="s", claim_no=1),
        make_job(conn, "running", subject="s", claim_no=2),
    )
    assert report(conn, lease_of(conn, newer), Event.COMPLETE) is JobState.COMPLETED
    assert report(conn, lease_of(conn, older), Event.COMPLETE) is JobState.SUPERSEDED
