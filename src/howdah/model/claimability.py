"""Why a job is not running: the rule of the claim, said in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from howdah.model.job import FINAL, Job, JobState
from howdah.model.nearest import nearest
from howdah.model.spoken import counted, lasting

MOST_AHEAD = 1_000  # how far the jobs before one are counted
LONGEST = 100  # characters of an error that is told in passing


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimability:
    """What decides whether a job can be claimed now."""

    state: JobState
    attempt: int
    kind: str
    kind_is_known: bool
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
        return _held(job, now)
    if job.state is JobState.UNKNOWN:
        return "its worker vanished after it began; a person or a reconciler has to resolve it"
    if job.state is JobState.SCHEDULED:
        return f"it is due {_ahead(job.run_at, now)}" if job.run_at > now else "it is due and waits for the promoter"
    if job.state is JobState.BLOCKED:
        return "it waits for its lane or a dependency"
    if job.outdated:
        return "a newer job of its subject replaces it"
    if job.attempt == 0 and job.expires_at is not None and job.expires_at <= now:
        return "its time to start has passed"
    if job.queue_paused:
        return f"queue {job.queue} is paused"
    return None


def why_it_ended(job: Job) -> str:
    """How a final job came to its end."""
    if job.state is JobState.SUPERSEDED:
        return f"a newer job of its subject has replaced it{f': {job.superseded_by}' if job.superseded_by else ''}"
    if job.state is JobState.EXPIRED:
        return "it had not begun when its time to start passed"
    if job.state is not JobState.DISCARDED or job.settled_event in ("discard", "resolve"):
        by = f", by {job.settled_by}: {job.settled_event}" if job.settled_by else ""
        return f"it has ended: {job.state}{by}"
    if job.attempt - job.excused >= job.max_attempts:
        why = f"its {counted(job.max_attempts, 'attempt')} {'is' if job.max_attempts == 1 else 'are'} used up"
    else:
        why = "it failed for good"
    if not job.errors:
        return why
    said = f"{job.errors[-1].type}: {job.errors[-1].message}".partition("\n")[0]
    return f"{why}; last: {said if len(said) <= LONGEST else f'{said[:LONGEST]}…'}"


def unregistered(kind: str, known: Iterable[str]) -> str:
    """That no worker knows a kind, and the nearest that one knows."""
    advice = nearest(kind, (name for name in known if name != kind)) or ": deploy the code that defines it"
    return f"no worker has ever registered kind {kind!r}{advice}"


def how_to_resolve(job_id: int) -> str:
    """What to type once it is known how an unknown job ended."""
    return f"howdah jobs resolve {job_id} --as completed --note TEXT; or --as discarded, or --as available"


def _held(job: Claimability, now: datetime) -> str:
    assert job.lease_expires_at is not None
    left = (job.lease_expires_at - now).total_seconds()
    if left <= 0:
        return f"its lease ended {lasting(-left)} ago and no worker has taken it back: howdah sweep"
    return f"{job.worker} holds it; its lease ends in {lasting(left)} unless it is extended"


def _ahead(moment: datetime, now: datetime) -> str:
    return f"in {lasting((moment - now).total_seconds())}"


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


def why_not_taken(service: Service, known_kinds: Iterable[str] = ()) -> str:
    """The reason why nobody has taken a job that may be claimed, the gravest first, and what to do."""
    if not service.workers:
        return f"no worker serves queue {service.queue}; start one: howdah worker -m MODULE -q {service.queue}"
    if not service.kind_is_known:
        return unregistered(service.kind, known_kinds)
    before = f"{counted(service.ahead, 'job', most=MOST_AHEAD)} before it"
    if service.running >= service.slots:
        return f"every slot of queue {service.queue} is busy: {service.running} of {service.slots}; {before}"
    return f"it may be claimed at any moment; {before}"
