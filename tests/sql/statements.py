"""Every step of the state table as the product takes it: what the conformance test and the oracle run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from psycopg import Connection

from howdah.model.errors import JobNotClaimable, LeaseLost
from howdah.model.job import JobState, Lease
from howdah.model.outcome import Actor, Event, Report
from howdah.model.transitions import Facts, next_state
from howdah.store import claiming, settling, sweeping
from howdah.store.operation import Query
from tests.sql.cases import QUEUE, Case
from tests.support.jobs import run

Perform: TypeAlias = Callable[[Connection[Any], Sequence[Case]], object]
MANY = 100_000


def settled(actor: Actor, report: Report, **options: Any) -> Perform:
    def perform(conn: Connection[Any], cases: Sequence[Case]) -> object:
        targets = [case.facts.target for case in cases] if report.event is Event.RESOLVE else []
        reports = [(settling.without_lease(case.id, case.token), report) for case in cases]
        return run(conn, settling.settle(reports, actor=actor, targets=targets, **options))  # type: ignore[arg-type]

    return perform


def completed_the_short_way(conn: Connection[Any], cases: Sequence[Case]) -> None:
    """As a worker does: the statement for plain jobs first, and what it leaves the long way."""
    params = {
        "ids": [case.id for case in cases],
        "tokens": [case.token for case in cases],
        "results": [None] * len(cases),
    }

    def complete() -> Any:
        yield Query("jobs/complete", params)

    run(conn, complete())
    settled(Actor.WORKER, Report(Event.COMPLETE))(conn, cases)


def reaped(conn: Connection[Any], cases: Sequence[Case]) -> None:
    run(conn, sweeping.reap(MANY))


def expired(conn: Connection[Any], cases: Sequence[Case]) -> None:
    run(conn, sweeping.expire(MANY))


def promoted(conn: Connection[Any], cases: Sequence[Case]) -> None:
    run(conn, sweeping.promote(MANY))


def claimed(conn: Connection[Any], cases: Sequence[Case]) -> None:
    run(conn, claiming.claim({QUEUE: MANY}, MANY, worker="claimer", lease=30))


def claimed_one_by_one(conn: Connection[Any], cases: Sequence[Case]) -> None:
    for case in cases:
        with suppress(JobNotClaimable):
            run(conn, claiming.claim_job(case.id, worker="claimer", lease=30))


def started(conn: Connection[Any], cases: Sequence[Case]) -> None:
    for case in cases:
        with suppress(LeaseLost):
            run(conn, claiming.start(Lease(case.id, case.token, "w", None)))  # type: ignore[arg-type]


def requeued(conn: Connection[Any], cases: Sequence[Case]) -> None:
    def requeue() -> Any:
        for case in cases:
            yield Query("jobs/requeue", {"id": case.id, "note": "again"})

    run(conn, requeue())


@dataclass(frozen=True)
class Statement:
    """A step as the product takes it, and what it says beside the job."""

    actor: Actor
    event: Event
    perform: Perform
    said: dict[str, Any]

    def expected(self, facts: Facts) -> JobState | None:
        return next_state(self.actor, self.event, facts)


def of_worker(event: Event, **said: Any) -> Statement:
    report = Report(event, permanent=said.get("permanent", False), excused=said.get("excused_release", False), delay=9)
    return Statement(Actor.WORKER, event, settled(Actor.WORKER, report), said)


def resolved(target: JobState) -> Statement:
    report = Report(Event.RESOLVE)
    return Statement(Actor.OPERATOR, Event.RESOLVE, settled(Actor.OPERATOR, report, note="n"), {"target": target})


STALE = {"token_is_current": False}
STATEMENTS = {
    "complete": of_worker(Event.COMPLETE),
    "complete, stale": of_worker(Event.COMPLETE, **STALE),
    "complete, short": Statement(Actor.WORKER, Event.COMPLETE, completed_the_short_way, {}),
    "complete, short, stale": Statement(Actor.WORKER, Event.COMPLETE, completed_the_short_way, STALE),
    "fail": of_worker(Event.FAIL),
    "fail, permanent": of_worker(Event.FAIL, permanent=True),
    "fail, stale": of_worker(Event.FAIL, **STALE),
    "snooze": of_worker(Event.SNOOZE),
    "snooze, stale": of_worker(Event.SNOOZE, **STALE),
    "release, excused": of_worker(Event.RELEASE, excused_release=True),
    "release, counted": of_worker(Event.RELEASE, excused_release=False),
    "release, stale": of_worker(Event.RELEASE, excused_release=True, **STALE),
    "handler's cancel": of_worker(Event.CANCEL),
    "handler's cancel, stale": of_worker(Event.CANCEL, **STALE),
    "discard": of_worker(Event.DISCARD),
    "discard, stale": of_worker(Event.DISCARD, **STALE),
    "start": Statement(Actor.WORKER, Event.START, started, {}),
    "start, stale": Statement(Actor.WORKER, Event.START, started, STALE),
    "operator's cancel": Statement(Actor.OPERATOR, Event.CANCEL, settled(Actor.OPERATOR, Report(Event.CANCEL)), {}),
    "supersede": Statement(Actor.ENQUEUE, Event.SUPERSEDE, settled(Actor.ENQUEUE, Report(Event.SUPERSEDE)), {}),
    "expire": Statement(Actor.PROMOTER, Event.EXPIRE, settled(Actor.PROMOTER, Report(Event.EXPIRE)), {}),
    "expire, swept": Statement(Actor.PROMOTER, Event.EXPIRE, expired, {}),
    "reap": Statement(Actor.REAPER, Event.REAP, settled(Actor.REAPER, Report(Event.REAP)), {}),
    "reap, swept": Statement(Actor.REAPER, Event.REAP, reaped, {}),
    "promote": Statement(Actor.PROMOTER, Event.PROMOTE, promoted, {}),
    "claim": Statement(Actor.CLAIM, Event.CLAIM, claimed, {}),
    "claim_job": Statement(Actor.CLAIM, Event.CLAIM, claimed_one_by_one, {}),
    "resolve as completed": resolved(JobState.COMPLETED),
    "resolve as discarded": resolved(JobState.DISCARDED),
    "resolve as available": resolved(JobState.AVAILABLE),
    "requeue": Statement(Actor.OPERATOR, Event.REQUEUE, requeued, {}),
}
