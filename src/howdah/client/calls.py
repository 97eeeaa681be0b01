"""What both clients do with what they are given: checks at the door, then an operation, blocking or awaited alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, Literal, get_args

from howdah.model.errors import InvalidArgs, InvalidOption, LeaseLost
from howdah.model.job import FINAL, JSON, ClaimedJob, Job, JobState, Lease, NewJob
from howdah.model.json_text import Unstorable, encode
from howdah.model.limits import MAX_BATCH, Seconds, check_lease, check_name, check_seconds, check_whole
from howdah.model.options import new_job
from howdah.model.outcome import Event, Fail, Outcome, Release, Report, Snooze, report
from howdah.store import claiming, jobs, settling
from howdah.store.operation import Operation

Resolution = Literal["completed", "discarded", "available"]
FIRST_POLL, LAST_POLL = 0.05, 1.0


def new(kind: str, args: Mapping[str, Any], options: Mapping[str, Any]) -> NewJob:
    """A job by its kind's name, for callers that do not have its code."""
    if not isinstance(args, Mapping):
        raise InvalidArgs(kind, None, f"args are a mapping of names to JSON values, not {type(args).__name__}")
    try:
        text = encode(dict(args))
    except Unstorable as problem:
        field = problem.path.removeprefix("$").removeprefix(".").split(".")[0].split("[")[0]
        raise InvalidArgs(kind, field or None, str(problem)) from None
    return new_job(kind, text, "default", options)


def new_jobs(given: Iterable[NewJob]) -> list[NewJob]:
    """The jobs as a list. Raises TypeError for anything that is not a NewJob."""
    found = list(given)
    for item in found:
        if not isinstance(item, NewJob):
            raise TypeError(f"{type(item).__name__} is not a NewJob: make it by Kind.new(…) or Client.new(kind, args)")
    return found


def claim(queues: Sequence[str], limit: int, worker: str, lease: Seconds | None) -> Operation[list[ClaimedJob]]:
    """Queues are served in the order given."""
    if isinstance(queues, str):
        raise InvalidOption("queues", queues, "is a list of names")
    limit = check_whole("limit", limit, 1, MAX_BATCH)
    quotas = {check_name("queues", queue): limit for queue in queues}
    return claiming.claim(quotas, limit, worker=check_name("worker", worker), lease=_lease(lease))


def claim_job(job_id: int, worker: str, lease: Seconds | None) -> Operation[ClaimedJob]:
    """One job by its id."""
    return claiming.claim_job(check_id(job_id), worker=check_name("worker", worker), lease=_lease(lease))


def extend(lease: Lease, seconds: Seconds) -> Operation[Lease]:
    """Seconds from now."""
    return claiming.extend(lease, check_lease(seconds, "seconds"))


def complete(lease: Lease, result: JSON, *, in_transaction: bool) -> Operation[JobState]:
    """A result that cannot be kept is refused, and changes nothing."""
    try:
        text = None if result is None else encode(result)
    except Unstorable as problem:
        raise InvalidOption("result", result, str(problem)) from None
    return settling.settle_one(lease, Report(Event.COMPLETE, result=text), in_transaction=in_transaction)


def fail(lease: Lease, error: str | BaseException, retry_in: Seconds | None, permanent: bool) -> Operation[JobState]:
    """An attempt that failed."""
    return settling.settle_one(lease, report(Fail(error, retry_in=retry_in, permanent=permanent)))


def snooze(lease: Lease, seconds: Seconds) -> Operation[JobState]:
    """Again later, excused."""
    return settling.settle_one(lease, report(Snooze(seconds)))


def release(lease: Lease, reason: str, excused: bool) -> Operation[JobState]:
    """Given back."""
    return settling.settle_one(lease, report(Release(reason, excused=excused)))


def settle_many(outcomes: Iterable[tuple[Lease, Outcome]]) -> Operation[list[LeaseLost]]:
    """Every outcome is made ready before the first is written."""
    reports = [(lease, report(outcome)) for lease, outcome in outcomes]
    answers = yield from settling.settle_reports(reports)
    return [answer for answer in answers if isinstance(answer, LeaseLost)]


def resolve(job_id: int, state: Resolution, note: str) -> Operation[Job]:
    """How an unknown job ended."""
    if state not in get_args(Resolution):
        raise InvalidOption("state", state, f"must be one of {', '.join(get_args(Resolution))}")
    return jobs.resolve(check_id(job_id), JobState(state), note)


def check_id(job_id: object) -> int:
    """A job's id. Raises InvalidOption."""
    return check_whole("job_id", job_id, 1, 2**63 - 1)


def polls(timeout: Seconds) -> Iterator[float]:
    """How long to wait between looks, in seconds, growing, until the timeout is used up."""
    left, pause = check_seconds("timeout", timeout), FIRST_POLL
    while left > 0:
        yield min(pause, left)
        left -= pause
        pause = min(pause * 1.5, LAST_POLL)


class Days:
    """Tells the first time of each UTC day: a completion in a caller's transaction must not be the one that meets no
    partition. A day counts once `seen` is called, so that one on which PostgreSQL did not answer is told again."""

    def __init__(self) -> None:
        self._seen: date | None = None

    def is_new(self) -> bool:
        return datetime.now(UTC).date() != self._seen

    def seen(self) -> None:
        self._seen = datetime.now(UTC).date()


def has_ended(job: Job) -> bool:
    """Whether who waits for it has its answer."""
    return job.state in FINAL or job.state is JobState.UNKNOWN


def ended(job: Job) -> Job:
    """The job, if it has ended or is unknown. Raises TimeoutError."""
    if has_ended(job):
        return job
    raise TimeoutError(f"job {job.id} is still {job.state}")


def _lease(lease: Seconds | None) -> float | None:
    return None if lease is None else check_lease(lease)
