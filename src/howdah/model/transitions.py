"""The state table: every step a job can take, as one data structure.

SQL decides, in the WHERE of each statement under the row lock. This table is its oracle in the conformance test, the
source of the diagram in the docs, and what explains why a step was refused. `ON` names the .sql file of each row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from howdah.model.job import FINAL, UNSTARTED, JobState, OnCrash, OnSupersede
from howdah.model.outcome import Actor, Event
from howdah.model.retry import used_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a statement looks at when it holds the row's lock."""

    state: JobState
    attempt: int = 1
    excused: int = 0
    max_attempts: int = 10
    on_crash: OnCrash = "retry"
    on_supersede: OnSupersede = "cancel"
    needs_start: bool = False
    started: bool = False
    outdated: bool = False
    cancel_requested: bool = False
    lease_expired: bool = False
    due: bool = False  # run_at has come
    late: bool = False  # expires_at has passed
    key_held: bool = False  # by another live job
    newer_unfinished: bool = False  # of its subject
    # what the report says
    token_is_current: bool = True
    permanent: bool = False
    excused_release: bool = True
    target: JobState | None = None  # of resolve


@dataclass(frozen=True, slots=True)
class Condition:
    """A named question about a job, so that the table can be printed."""

    name: str
    holds: Callable[[Facts], bool]

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Step:
    """A row of the table: from these states, on this event by this actor, to the first state that applies."""

    sources: frozenset[JobState]
    actor: Actor
    event: Event
    on: str
    to: tuple[tuple[Condition, JobState], ...]
    guard: Condition
    excused: bool = False


ALWAYS = Condition("otherwise", lambda f: True)
OUTDATED = Condition("outdated", lambda f: f.outdated)
OUTDATED_AND_CANCEL = Condition("outdated, on_supersede=cancel", lambda f: f.outdated and f.on_supersede == "cancel")
ASKED = Condition("asked to cancel", lambda f: f.cancel_requested)
PERMANENT = Condition("permanent", lambda f: f.permanent)
CAP = Condition("attempts used up", lambda f: used_up(f.attempt, f.excused, f.max_attempts))
CRASH_UNKNOWN = Condition("on_crash=unknown", lambda f: f.on_crash == "unknown")
CRASH_DISCARD = Condition("on_crash=discard", lambda f: f.on_crash == "discard")
LATE = Condition("its time to start has passed", lambda f: f.late and f.attempt == 0)
TO_COMPLETED = Condition("as completed", lambda f: f.target is JobState.COMPLETED)
TO_DISCARDED = Condition("as discarded", lambda f: f.target is JobState.DISCARDED)
TO_AVAILABLE = Condition("as available", lambda f: f.target is JobState.AVAILABLE)

DUE = Condition("due", lambda f: f.due)
TOKEN = Condition("with the current token", lambda f: f.token_is_current)
NOT_STARTED_YET = Condition(
    "uses the start step and has not begun, its lease live",
    lambda f: f.token_is_current and not f.started and not f.lease_expired,
)
EXCUSED_RELEASE = Condition("excused", lambda f: f.token_is_current and f.excused_release)
COUNTED_RELEASE = Condition("counted", lambda f: f.token_is_current and not f.excused_release)
EXPIRED_UNSTARTED = Condition(
    "expired, uses the start step, not started", lambda f: f.lease_expired and f.needs_start and not f.started
)
EXPIRED_OTHERWISE = Condition("expired, otherwise", lambda f: f.lease_expired and not (f.needs_start and not f.started))
RESOLVABLE = Condition("with a state to resolve to", lambda f: f.target is not JobState.AVAILABLE or not f.outdated)
REQUEUABLE = Condition(
    "key free, no newer unfinished job of its subject", lambda f: not f.key_held and not f.newer_unfinished
)

RUNNING = frozenset({JobState.RUNNING})
S = JobState

TRANSITIONS: tuple[Step, ...] = (
    Step(frozenset({S.SCHEDULED}), Actor.PROMOTER, Event.PROMOTE, "jobs/promote", ((ALWAYS, S.AVAILABLE),), DUE),
    Step(UNSTARTED, Actor.OPERATOR, Event.CANCEL, "jobs/settle", ((ALWAYS, S.CANCELLED),), ALWAYS),
    Step(UNSTARTED, Actor.ENQUEUE, Event.SUPERSEDE, "jobs/settle", ((ALWAYS, S.SUPERSEDED),), OUTDATED),
    Step(UNSTARTED, Actor.PROMOTER, Event.EXPIRE, "jobs/settle", ((ALWAYS, S.EXPIRED),), LATE),
    Step(
        frozenset({S.AVAILABLE}),
        Actor.CLAIM,
        Event.CLAIM,
        "jobs/claim",
        ((OUTDATED, S.SUPERSEDED), (LATE, S.EXPIRED), (ALWAYS, S.RUNNING)),
        ALWAYS,
    ),
    Step(RUNNING, Actor.WORKER, Event.START, "leases/start", ((ALWAYS, S.RUNNING),), NOT_STARTED_YET),
    Step(RUNNING, Actor.OPERATOR, Event.CANCEL, "jobs/settle", ((ALWAYS, S.RUNNING),), ALWAYS),
    Step(
        RUNNING,
        Actor.WORKER,
        Event.COMPLETE,
        "jobs/settle",
        ((OUTDATED_AND_CANCEL, S.SUPERSEDED), (ALWAYS, S.COMPLETED)),
        TOKEN,
    ),
    Step(RUNNING, Actor.WORKER, Event.CANCEL, "jobs/settle", ((ALWAYS, S.CANCELLED),), TOKEN),
    Step(RUNNING, Actor.WORKER, Event.DISCARD, "jobs/settle", ((ALWAYS, S.DISCARDED),), TOKEN),
    Step(
        RUNNING,
        Actor.WORKER,
        Event.FAIL,
        "jobs/settle",
        (
            (OUTDATED, S.SUPERSEDED),
            (ASKED, S.CANCELLED),
            (PERMANENT, S.DISCARDED),
            (CAP, S.DISCARDED),
            (ALWAYS, S.SCHEDULED),
        ),
        TOKEN,
    ),
    Step(
        RUNNING,
        Actor.WORKER,
        Event.SNOOZE,
        "jobs/settle",
        ((OUTDATED, S.SUPERSEDED), (ASKED, S.CANCELLED), (ALWAYS, S.SCHEDULED)),
        TOKEN,
        excused=True,
    ),
    Step(
        RUNNING,
        Actor.WORKER,
        Event.RELEASE,
        "jobs/settle",
        ((OUTDATED, S.SUPERSEDED), (ASKED, S.CANCELLED), (ALWAYS, S.AVAILABLE)),
        EXCUSED_RELEASE,
        excused=True,
    ),
    Step(
        RUNNING,
        Actor.WORKER,
        Event.RELEASE,
        "jobs/settle",
        ((OUTDATED, S.SUPERSEDED), (ASKED, S.CANCELLED), (CAP, S.DISCARDED), (ALWAYS, S.SCHEDULED)),
        COUNTED_RELEASE,
    ),
    Step(
        RUNNING,
        Actor.REAPER,
        Event.REAP,
        "jobs/settle",
        ((OUTDATED, S.SUPERSEDED), (ASKED, S.CANCELLED), (ALWAYS, S.AVAILABLE)),
        EXPIRED_UNSTARTED,
        excused=True,
    ),
    Step(
        RUNNING,
        Actor.REAPER,
        Event.REAP,
        "jobs/settle",
        (
            (CRASH_UNKNOWN, S.UNKNOWN),
            (OUTDATED, S.SUPERSEDED),
            (ASKED, S.CANCELLED),
            (CRASH_DISCARD, S.DISCARDED),
            (CAP, S.DISCARDED),
            (ALWAYS, S.SCHEDULED),
        ),
        EXPIRED_OTHERWISE,
    ),
    Step(
        frozenset({S.UNKNOWN}),
        Actor.OPERATOR,
        Event.RESOLVE,
        "jobs/settle",
        ((TO_COMPLETED, S.COMPLETED), (TO_DISCARDED, S.DISCARDED), (TO_AVAILABLE, S.AVAILABLE)),
        RESOLVABLE,
    ),
    Step(FINAL, Actor.OPERATOR, Event.REQUEUE, "jobs/requeue", ((ALWAYS, S.AVAILABLE),), REQUEUABLE),
)


def next_state(actor: Actor, event: Event, facts: Facts) -> JobState | None:
    """Where this event takes a job, or None where the table has no such step."""
    step = find(actor, event, facts)
    if step is None:
        return None
    return next(state for condition, state in step.to if condition.holds(facts))


def find(actor: Actor, event: Event, facts: Facts) -> Step | None:
    """The row of the table that applies."""
    for step in TRANSITIONS:
        if step.actor is actor and step.event is event and facts.state in step.sources and step.guard.holds(facts):
            return step
    return None


def diagram() -> str:
    """The table as a Mermaid state diagram, for the docs."""
    lines = ["stateDiagram-v2"]
    for step in TRANSITIONS:
        for source in sorted(step.sources):
            for condition, target in step.to:
                label = step.event if condition is ALWAYS else f"{step.event} ({condition})"
                lines.append(f"    {source} --> {target}: {label}")
    return "\n".join(dict.fromkeys(lines))
