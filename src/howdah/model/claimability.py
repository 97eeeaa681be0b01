"""Why a job is not running: the rule of the claim, said in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from howdah.model.job import FINAL, JobState

MOST_AHEAD = 1_000  # how far the jobs before one are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimability:
    """What decides whether a job can be claimed now."""

    state: JobState
    attempt: int
    queue: str
    queue_paused: bool
    run_at: datetime
    expires_at: datetime | None
    outdated: bool
    worker: str | None = None
    lease_expires_at: datetime | None = None


def why_not_claimable(job: Claimability, now: datetime) -> str | None:
    """The reason why a claim passes this job over, or None if it can be claimed. `now` is the database's clock."""
    if job.state in FINAL:
        return f"it has ended: {job.state}"
    if job.state is JobState.RUNNING:
        return f"{job.worker} holds it until {job.lease_expires_at}"
    if job.state is JobState.UNKNOWN:
        return "its worker vanished after it began; a person or a reconciler has to resolve it"
    if job.state is JobState.SCHEDULED:
        return f"it is due at {job.run_at}" if job.run_at > now else "it is due and waits for the promoter"
    if job.state is JobState.BLOCKED:
        return "it waits for its lane or a dependency"
    if job.outdated:
        return "a newer job of its subject replaces it"
    if job.attempt == 0 and job.expires_at is not None and job.expires_at <= now:
        return "its time to start has passed"
    if job.queue_paused:
        return f"queue {job.queue} is paused"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """Who could take an available job: the workers of its queue with their slots, and what is before it.

    `ahead` is counted to MOST_AHEAD.
    """

    queue: str
    kind: str
    workers: int
    slots: int
    running: int
    kind_is_known: bool
    ahead: int


def why_not_taken(service: Service) -> str:
    """The reason why nobody has taken a job that may be claimed, the gravest first, and what to do."""
    if not service.workers:
        return f"no worker serves queue {service.queue}; start one: howdah worker -m MODULE -q {service.queue}"
    if not service.kind_is_known:
        return f"no worker has ever registered kind {service.kind}: deploy the code that defines it"
    before = f"{service.ahead}{' or more' if service.ahead >= MOST_AHEAD else ''} jobs are before it"
    if service.running >= service.slots:
        return f"all {service.slots} slots of queue {service.queue} are busy, and {before}"
    return f"it may be claimed at any moment; {before}"
