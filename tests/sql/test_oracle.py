"""The pure rules of the model as oracles of the SQL, on random facts."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from howdah.model.claimability import why_not_claimable
from howdah.model.errors import JobNotClaimable
from howdah.model.job import UNSTARTED, JobState
from howdah.model.outcome import Actor, ErrorEntry, Event, Report
from howdah.model.retry import Retry, backoff
from howdah.model.transitions import Facts, next_state
from howdah.store import claiming, jobs, settling
from tests.sql.cases import Case, all_facts, insert
from tests.sql.statements import STATEMENTS
from tests.sql.test_conformance import compare, rows_by_job
from tests.support.jobs import FUTURE, PAST, fetch, lease_of, make_job, make_kind, run, state_of

# One database for all examples, each with names of its own.
oracle = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
numbers = count(1)

retries = st.builds(
    Retry,
    max_attempts=st.just(32_767),
    base=st.floats(0, 316_224_000),
    factor=st.floats(1, 1000),
    cap=st.floats(0, 316_224_000),
    jitter=st.floats(0, 1),
)


@oracle
@given(retry=retries, attempt=st.integers(1, 32_000), excused=st.integers(0, 32_000))
@example(retry=Retry(32_767, base=316_224_000, factor=1000, cap=316_224_000, jitter=1), attempt=32_000, excused=0)
@example(retry=Retry(32_767, base=5, factor=2, cap=3600, jitter=0), attempt=1, excused=0)
@example(retry=Retry(32_767, base=5, factor=2, cap=3600, jitter=0), attempt=4, excused=1)
@example(retry=Retry(32_767, base=0, factor=1000, cap=3600, jitter=1), attempt=32_000, excused=0)
def test_a_failed_attempt_waits_for_the_backoff_of_the_model(
    conn: Connection[Any], retry: Retry, attempt: int, excused: int
) -> None:
    assume(excused <= attempt)
    kind = f"backoff{next(numbers)}"
    columns = {f"retry_{name}": getattr(retry, name) for name in ("base", "factor", "cap", "jitter")}
    make_kind(conn, kind, max_attempts=retry.max_attempts, **columns)
    job = make_job(conn, "running", kind=kind, attempt=attempt, excused=excused)
    report = Report(Event.FAIL, error=ErrorEntry("failed", "E", "e"))
    run(conn, settling.settle_one(lease_of(conn, job), report))
    row = fetch(conn, job)
    waits = (row["run_at"] - datetime.fromisoformat(row["errors"][-1]["at"])).total_seconds()
    expected = backoff(retry, attempt, excused)
    slack = 1e-5 + expected * 1e-9
    assert expected * (1 - retry.jitter) - slack <= waits <= expected * (1 + retry.jitter) + slack


def test_jitter_spreads_the_retries_of_one_batch(conn: Connection[Any]) -> None:
    make_kind(conn, retry_base=100, retry_jitter=0.2)
    leases = [lease_of(conn, make_job(conn, "running")) for _ in range(50)]
    run(conn, settling.settle([(lease, Report(Event.FAIL)) for lease in leases]))
    rows = conn.execute("SELECT DISTINCT round(extract(epoch FROM run_at)) FROM howdah.jobs").fetchall()
    assert len(rows) > 10


@oracle
@given(delay=st.floats(0, 316_224_000), event=st.sampled_from([Event.FAIL, Event.SNOOZE]))
def test_a_delay_that_the_report_names_replaces_the_backoff(conn: Connection[Any], delay: float, event: Event) -> None:
    job = make_job(conn, "running", kind=f"delay{next(numbers)}")
    report = Report(event, delay=delay, error=ErrorEntry("failed", "E", "e"))
    run(conn, settling.settle_one(lease_of(conn, job), report))
    row = fetch(conn, job)
    waits = row["run_at"] - datetime.fromisoformat(row["errors"][-1]["at"])
    assert abs(waits - timedelta(seconds=delay)) < timedelta(milliseconds=1)


@oracle
@given(
    attempt=st.integers(1, 6),
    excused=st.integers(0, 6),
    of_job=st.none() | st.integers(1, 6),
    of_kind=st.none() | st.integers(1, 6),
    event=st.sampled_from([Event.FAIL, Event.RELEASE, Event.REAP]),
)
def test_the_cap_is_the_jobs_own_else_its_kinds_else_ten(
    conn: Connection[Any], attempt: int, excused: int, of_job: int | None, of_kind: int | None, event: Event
) -> None:
    assume(excused <= attempt)
    kind = f"cap{next(numbers)}"
    if of_kind is not None:
        make_kind(conn, kind, max_attempts=of_kind)
    job = make_job(
        conn, "running", kind=kind, attempt=attempt, excused=excused, max_attempts=of_job, lease_expired=True
    )
    cap = of_job or of_kind or 10
    facts = Facts(state=JobState.RUNNING, attempt=attempt, excused=excused, max_attempts=cap, lease_expired=True)
    facts = replace(facts, excused_release=False)
    actor = Actor.REAPER if event is Event.REAP else Actor.WORKER
    run(conn, settling.settle([(lease_of(conn, job), Report(event))], actor=actor))
    assert state_of(conn, job) is next_state(actor, event, facts)
    assert fetch(conn, job)["max_attempts"] == cap


@oracle
@given(
    facts=st.sampled_from(list(all_facts())),
    name=st.sampled_from(sorted(STATEMENTS)),
    attempt=st.integers(1, 30),
    excused=st.integers(0, 30),
)
def test_any_statement_does_to_a_random_job_what_the_table_says(
    conn: Connection[Any], facts: Facts, name: str, attempt: int, excused: int
) -> None:
    assume(excused < attempt)
    conn.execute(
        "DELETE FROM howdah.jobs; DELETE FROM howdah.history; DELETE FROM howdah.keys; DELETE FROM howdah.audit"
    )
    statement = STATEMENTS[name]
    if facts.attempt:
        facts = replace(facts, attempt=attempt, excused=excused)
    cases: list[Case] = insert(conn, [replace(facts, **statement.said)])
    before = rows_by_job(conn)
    statement.perform(conn, cases)
    assert compare(statement, cases[0], before, rows_by_job(conn)) is None


@oracle
@given(
    state=st.sampled_from(sorted(JobState)),
    attempt=st.integers(0, 2),
    paused=st.booleans(),
    due=st.booleans(),
    late=st.booleans(),
    outdated=st.booleans(),
)
def test_a_claim_takes_exactly_the_jobs_of_which_nothing_says_why_not(
    conn: Connection[Any], state: JobState, attempt: int, paused: bool, due: bool, late: bool, outdated: bool
) -> None:
    name = f"why{next(numbers)}"
    times = {"run_at": PAST if due else FUTURE, "expires_at": PAST if late else FUTURE}
    begun = {"attempt": attempt or 1} if state not in UNSTARTED else {"attempt": attempt}
    job = make_job(conn, state, kind=name, queue=name, subject="s", **times, **begun)
    if outdated:
        make_job(conn, "scheduled", kind=name, subject="s")
    if paused:
        run(conn, jobs.pause(name))
    why_not = why_not_claimable(*run(conn, jobs.standing(job)))
    claimed = [job.id for job in run(conn, claiming.claim({name: 5}, 5, worker="w"))]
    assert claimed == ([job] if why_not is None else [])


@pytest.mark.parametrize("state", sorted(JobState))
def test_claiming_one_job_takes_what_a_claim_would_also_of_a_paused_queue(
    conn: Connection[Any], state: JobState
) -> None:
    job = make_job(conn, state)
    run(conn, jobs.pause("default"))
    with suppress(JobNotClaimable):
        run(conn, claiming.claim_job(job, worker="me"))
    assert (fetch(conn, job)["worker"] == "me") is (state is JobState.AVAILABLE)
