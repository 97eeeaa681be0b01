"""A job as data: its states, what a caller may say of it, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, TypeAlias

JSON: TypeAlias = Any
OnCrash: TypeAlias = Literal["retry", "discard", "unknown"]
OnSupersede: TypeAlias = Literal["cancel", "finish"]
ErrorEvent: TypeAlias = Literal["failed", "crashed", "timeout", "released", "undecodable", "late"]


class JobState(StrEnum):
    """Where a job stands: `model/transitions.py` has every step between these."""

    SCHEDULED = "scheduled"
    BLOCKED = "blocked"
    AVAILABLE = "available"
    RUNNING = "running"
    UNKNOWN = "unknown"
    COMPLETED = "completed"
    DISCARDED = "discarded"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"


UNSTARTED = frozenset({JobState.SCHEDULED, JobState.BLOCKED, JobState.AVAILABLE})
FINAL = frozenset({JobState.COMPLETED, JobState.DISCARDED, JobState.CANCELLED, JobState.SUPERSEDED, JobState.EXPIRED})


@dataclass(frozen=True, slots=True)
class Enqueued:
    """The answer to an enqueue. `created` is False where a live job with this key was there already: `id` is its."""

    id: int
    created: bool


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job that has been checked and not enqueued yet: what `Kind.new` and `Client.new` give.

    `args` is the JSON text; durations are seconds; `fallback_queue` is the one the code names, used where neither
    the option nor the kind's row in `howdah.kinds` says another.
    """

    kind: str
    args: str
    queue: str | None = None
    fallback_queue: str = "default"
    priority: int = 0
    delay: float | None = None
    run_at: datetime | None = None
    expires_in: float | None = None
    max_attempts: int | None = None
    key: str | None = None
    key_for: float | None = None
    subject: str | None = None
    headers: str = "{}"
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to run and report one attempt. It is plain data, so it can travel to another process.

    `token` is the attempt's number, sent with every report; `expires_at` is by the database's clock.
    """

    job_id: int
    token: int
    worker: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """One attempt at one job, as it is handed to a worker.

    `needs_start`: call `start(lease)` before the handler's first instruction.
    `lease_seconds` is the lease's length; `follow_up` is true for a job that `on_discard` or `on_unknown`
    enqueued, `has_crashed` for one whose worker has vanished before.
    """

    id: int
    kind: str
    args: dict[str, Any]
    queue: str
    attempt: int
    max_attempts: int
    key: str | None
    subject: str | None
    needs_start: bool
    headers: Mapping[str, str]
    lease: Lease
    lease_seconds: float = 60.0
    follow_up: bool = False
    has_crashed: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it has neither key nor subject, so that a completion can be settled the short way."""
        return self.key is None and self.subject is None


@dataclass(frozen=True, slots=True)
class AttemptError:
    """Why one attempt did not succeed, as kept in `errors` (the newest 20)."""

    attempt: int
    at: datetime
    event: ErrorEvent
    type: str
    message: str
    traceback: str | None = None
    worker: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A row of `howdah.all_jobs`: the one place to ask about any job. `max_attempts` is the effective one."""

    id: int
    kind: str
    queue: str
    state: JobState
    priority: int
    args: dict[str, Any]
    result: JSON
    attempt: int
    excused: int
    max_attempts: int
    key: str | None
    subject: str | None
    superseded_by: int | None
    worker: str | None
    run_at: datetime
    created_at: datetime
    started_at: datetime | None
    lease_expires_at: datetime | None
    finished_at: datetime | None
    progress: JSON
    errors: Sequence[AttemptError]
    headers: Mapping[str, str]
    tags: Sequence[str]
    claimed_at: datetime | None = None
    expires_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    crashes: int = 0
    settled_by: str | None = None
    settled_event: str | None = None
    settled_attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Reaped:
    """How the expired leases of one pass of the reaper ended. `retried` counts the excused ones too."""

    retried: int = 0
    discarded: int = 0
    unknown: int = 0
    superseded: int = 0
    cancelled: int = 0


@dataclass(frozen=True, slots=True)
class Drained:
    """How the attempts of one drain ended. `failed` are those that will be tried again."""

    completed: int = 0
    failed: int = 0
    discarded: int = 0
    snoozed: int = 0
    cancelled: int = 0


@dataclass(frozen=True, slots=True)
class Policy:
    """How a kind is to be treated: the row of `howdah.kinds`, written by workers as they start."""

    kind: str
    queue: str = "default"
    max_attempts: int = 10
    retry_base: float = 5.0
    retry_factor: float = 2.0
    retry_cap: float = 3600.0
    retry_jitter: float = 0.2
    lease: float = 60.0
    on_crash: OnCrash = "retry"
    on_supersede: OnSupersede = "cancel"
    on_discard: str | None = None
    on_unknown: str | None = None


@dataclass(frozen=True, slots=True)
class Vitals:
    """What a worker says of itself with each heartbeat.

    `running`: its running attempts. `stuck`: those of them whose handler goes on although its lease is over or its time
    is up.
    """

    running: int = 0
    stuck: int = 0
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker as `howdah.workers` shows it. `name` is new for every start, so nobody inherits a dead one's leases."""

    name: str
    hostname: str
    pid: int
    version: str
    queues: Mapping[str, int] = field(default_factory=dict)
    kinds: Sequence[str] | None = None  # that it has handlers for; None: not said
