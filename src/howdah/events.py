"""What an observer of a worker is told: `Worker(observers=[…])` calls each with one of these.

Args are part of a job: an observer that logs or exports them decides so itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from howdah.model.errors import LeaseLost
from howdah.model.job import ClaimedJob, JobState, WorkerInfo
from howdah.model.outcome import ErrorEntry


@dataclass(frozen=True, slots=True)
class WorkerStarted:
    """It has registered and begins to claim."""

    worker: WorkerInfo


@dataclass(frozen=True, slots=True)
class WorkerStopping:
    """It claims no more; what runs may go on for the grace period."""

    worker: WorkerInfo


@dataclass(frozen=True, slots=True)
class WorkerStopped:
    """Nothing of it runs any more, save threads that do not end."""

    worker: WorkerInfo


@dataclass(frozen=True, slots=True)
class JobsClaimed:
    """These are leased now; each begins or is given back."""

    jobs: Sequence[ClaimedJob]


@dataclass(frozen=True, slots=True)
class JobBegan:
    """The handler's first instruction is next."""

    job: ClaimedJob


@dataclass(frozen=True, slots=True)
class JobSettled:
    """An attempt's report is written: by `event` the job is in `state` now.

    `seconds`: how long its handler ran; None if it never began. `error`: what is kept of its failure.
    """

    job: ClaimedJob
    event: str
    state: JobState
    seconds: float | None
    error: ErrorEntry | None = None


@dataclass(frozen=True, slots=True)
class JobLost:
    """An attempt's report was refused, or none was sent: somebody else has or will decide about the job.

    `seconds`: how long its handler ran; None if it never began. `error`: the refusal, where there was one.
    """

    job: ClaimedJob
    seconds: float | None
    error: LeaseLost | None = None
