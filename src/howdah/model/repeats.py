"""A report whose lease is gone: was it this very report, said twice, or has somebody else decided?"""

from __future__ import annotations

from dataclasses import dataclass

from howdah.model.errors import LostReason
from howdah.model.job import JobState
from howdah.model.outcome import Actor, Event


@dataclass(frozen=True, slots=True)
class Trace:
    """What a job's row says of its last settlement; `outdated` and `attempt` are as of now."""

    state: JobState
    attempt: int
    settled_by: str | None
    settled_event: str | None
    settled_attempt: int | None


_LOST: dict[JobState, LostReason] = {
    JobState.SCHEDULED: "expired",
    JobState.AVAILABLE: "expired",
    JobState.BLOCKED: "expired",
    JobState.UNKNOWN: "expired",
    JobState.SUPERSEDED: "superseded",
    JobState.CANCELLED: "cancelled",
}


def is_repeat(row: Trace, token: int, event: Event) -> bool:
    """Whether this report has been accepted before: the same worker's event with the same token."""
    return row.state is not JobState.RUNNING and (row.settled_by, row.settled_event, row.settled_attempt) == (
        Actor.WORKER,
        event,
        token,
    )


def first_answer(row: Trace, event: Event, *, excused: bool) -> JobState:
    """The state that an accepted report was first answered with: the promoter may have moved the job on since."""
    if row.state is JobState.AVAILABLE and not (event is Event.RELEASE and excused):
        return JobState.SCHEDULED
    return row.state


def lost_reason(row: Trace | None, token: int) -> LostReason:
    """Why a lease with this token can no longer be reported on."""
    if row is None:
        return "pruned"
    if row.state is JobState.RUNNING:
        return "taken" if row.attempt != token else "expired"
    return _LOST.get(row.state, "finished")
