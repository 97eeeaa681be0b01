"""Every error Howdah raises: each carries its facts and says what to do next.

HowdahError
├── InvalidArgs (ValueError)         args that a handler or PostgreSQL cannot take
├── InvalidOption (ValueError)       an option out of its range
├── LeaseLost                        a report whose token is no longer current
├── JobNotFound                      no job has this id
├── JobNotClaimable                  somebody else holds it, or it is not available
├── InvalidTransition                the state table has no such step
├── SchemaMismatch                   the database's schema is missing, older or newer
└── Unreachable (ConnectionError)    PostgreSQL does not answer
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from datetime import datetime

    from howdah.model.job import JobState, Lease

LostReason: TypeAlias = Literal["expired", "taken", "superseded", "cancelled", "finished", "pruned"]


class HowdahError(Exception):
    """The root of all errors of Howdah."""


class InvalidArgs(HowdahError, ValueError):
    """Args that do not fit the handler, or that JSON or PostgreSQL cannot hold.

    Attributes: `kind`, and `field`: the name of the argument, or None when it is about all of them.
    """

    def __init__(self, kind: str, field: str | None, problem: str) -> None:
        self.kind = kind
        self.field = field
        self.problem = problem
        where = f"{kind}.{field}" if field else kind
        super().__init__(f"{where}: {problem}")

    def __reduce__(self) -> tuple[type[InvalidArgs], tuple[str, str | None, str]]:
        return InvalidArgs, (self.kind, self.field, self.problem)


class InvalidOption(HowdahError, ValueError):
    """An option whose value is out of its range, or that this release does not have.

    Attributes: `name`, and the refused `value`.
    """

    def __init__(self, name: str, value: object, problem: str) -> None:
        self.name = name
        self.value = value
        self.problem = problem
        super().__init__(f"{name}={_short(value)}: {problem}")

    def __reduce__(self) -> tuple[type[InvalidOption], tuple[str, object, str]]:
        return InvalidOption, (self.name, self.value, self.problem)


class LeaseLost(HowdahError):
    """A report that came too late: its token is no longer the job's current one. Nothing was changed.

    Attributes: the `lease`; the job's `state` now (None: no row is left); and the `reason`.
    """

    def __init__(self, lease: Lease, state: JobState | None, reason: LostReason) -> None:
        self.lease = lease
        self.state = state
        self.reason = reason
        super().__init__(f"job {lease.job_id}, token {lease.token}: {_WHY_LOST[reason]}; this report changed nothing")

    def __reduce__(self) -> tuple[type[LeaseLost], tuple[Lease, JobState | None, LostReason]]:
        return LeaseLost, (self.lease, self.state, self.reason)


class JobNotFound(HowdahError):
    """No job has this id: it never existed, or it was pruned. Attribute: `job_id`."""

    def __init__(self, job_id: int) -> None:
        self.job_id = job_id
        super().__init__(f"job {job_id} is not here: no job ever had this id, or its history has been pruned")

    def __reduce__(self) -> tuple[type[JobNotFound], tuple[int]]:
        return JobNotFound, (self.job_id,)


class JobNotClaimable(HowdahError):
    """A job that cannot be claimed now.

    Attributes: `job_id`; its `state`; and, if it is running, the `worker` that holds it and `lease_expires_at`.
    """

    def __init__(self, job_id: int, state: JobState, worker: str | None, lease_expires_at: datetime | None) -> None:
        self.job_id = job_id
        self.state = state
        self.worker = worker
        self.lease_expires_at = lease_expires_at
        held = f", held by {worker} until {lease_expires_at}" if lease_expires_at else ""
        super().__init__(f"job {job_id} is {state}{held}: only an available job can be claimed")

    def __reduce__(self) -> tuple[type[JobNotClaimable], tuple[int, JobState, str | None, datetime | None]]:
        return JobNotClaimable, (self.job_id, self.state, self.worker, self.lease_expires_at)


class InvalidTransition(HowdahError):
    """A step that the state table does not have, or that another job forbids. Nothing was changed.

    Attributes: `job_id`, its `state`, and the refused `event`.
    """

    def __init__(self, job_id: int, state: JobState, event: str, why: str | None = None) -> None:
        self.job_id = job_id
        self.state = state
        self.event = event
        self.why = why
        super().__init__(f"job {job_id} is {state}: {event} is not possible" + (f", since {why}" if why else ""))

    def __reduce__(self) -> tuple[type[InvalidTransition], tuple[int, JobState, str, str | None]]:
        return InvalidTransition, (self.job_id, self.state, self.event, self.why)


class SchemaMismatch(HowdahError):
    """The database's schema is missing, older or newer than this release needs.

    Attributes: `found` (None: no schema at all, or one that cannot be read) and `needed`, both versions.
    """

    def __init__(self, found: int | None, needed: int) -> None:
        self.found = found
        self.needed = needed
        if found is None:
            advice = "the schema howdah is missing here. Run: howdah migrate"
        elif found < needed:
            advice = f"the schema is at version {found}, this release needs {needed}. Run: howdah migrate"
        else:
            advice = f"the schema is at version {found}, this release knows {needed}. Run: pip install --upgrade howdah"
        super().__init__(advice)

    def __reduce__(self) -> tuple[type[SchemaMismatch], tuple[int | None, int]]:
        return SchemaMismatch, (self.found, self.needed)


class Unreachable(HowdahError, ConnectionError):
    """PostgreSQL does not answer, or went away during a call, whose outcome is then unknown."""


_WHY_LOST: dict[LostReason, str] = {
    "expired": "the lease ran out and the job was taken back",
    "taken": "another worker has claimed the job since, or has begun it with this very lease",
    "superseded": "a newer job of its subject has replaced it",
    "cancelled": "the job was cancelled",
    "finished": "the job has already ended",
    "pruned": "no such job is left",
}


def _short(value: object, limit: int = 100) -> str:
    try:
        text = repr(value)
    except Exception:  # a number of too many digits, or a repr that raises: the refusal still has to be said
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[:limit]}…"
