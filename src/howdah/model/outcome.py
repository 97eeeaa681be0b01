"""How an attempt ended, as a handler says it, and as the report that goes to the database."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from howdah.model.error_text import describe
from howdah.model.errors import InvalidOption
from howdah.model.job import JSON, ErrorEvent, Lease
from howdah.model.json_text import Unstorable, encode
from howdah.model.limits import Seconds, check_seconds


class Outcome(Exception):
    """Returned or raised by a handler. Raised inside `ctx.transaction()` it also rolls that back."""


class Complete(Outcome):
    """The job is done. `result`: any JSON value of at most 1 MiB, kept in history."""

    def __init__(self, result: JSON = None) -> None:
        super().__init__(result)
        self.result = result


class Fail(Outcome):
    """The attempt failed. `retry_in` seconds replaces the kind's backoff; `permanent` discards the job at once."""

    def __init__(self, error: str | BaseException, *, retry_in: Seconds | None = None, permanent: bool = False) -> None:
        super().__init__(error)
        if not isinstance(error, str | BaseException):
            raise InvalidOption("error", error, "must be text or an exception")
        self.error = error
        self.retry_in = None if retry_in is None else check_seconds("retry_in", retry_in)
        self.permanent = permanent


class RetryAfter(Outcome):
    """Try again in `seconds`; this counts as an attempt."""

    def __init__(self, seconds: Seconds) -> None:
        super().__init__(seconds)
        self.seconds = check_seconds("seconds", seconds)


class Snooze(Outcome):
    """Run again in `seconds`; this attempt is excused."""

    def __init__(self, seconds: Seconds) -> None:
        super().__init__(seconds)
        self.seconds = check_seconds("seconds", seconds)


class Release(Outcome):
    """Give the job back. Excused, it is available at once; else the attempt counts and backs off."""

    def __init__(self, reason: str, *, excused: bool = True) -> None:
        super().__init__(reason)
        _check_text(reason)
        self.reason = reason
        self.excused = excused


class Cancel(Outcome):
    """Cancel the job: it ends `cancelled`, without a retry."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Discard(Outcome):
    """Give the job up for good: it ends `discarded`, and its kind's `on_discard` follows."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _check_text(reason: object) -> None:
    if not isinstance(reason, str):
        raise InvalidOption("reason", reason, "must be text")


class Event(StrEnum):
    """What happens to a job: the rows of the state table, and `settled_event`."""

    ENQUEUE = "enqueue"
    PROMOTE = "promote"
    UNBLOCK = "unblock"
    CLAIM = "claim"
    START = "start"
    EXTEND = "extend"
    COMPLETE = "complete"
    FAIL = "fail"
    SNOOZE = "snooze"
    RELEASE = "release"
    CANCEL = "cancel"
    DISCARD = "discard"
    SUPERSEDE = "supersede"
    EXPIRE = "expire"
    REAP = "reap"
    RESOLVE = "resolve"
    REQUEUE = "requeue"


class Actor(StrEnum):
    """Who settles: `settled_by`."""

    WORKER = "worker"
    REAPER = "reaper"
    OPERATOR = "operator"
    ENQUEUE = "enqueue"
    CLAIM = "claim"
    PROMOTER = "promoter"


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """An entry of `errors` before the database adds attempt, time and worker."""

    event: ErrorEvent
    type: str
    message: str
    traceback: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """An outcome made ready for the database: every text is clean, every size within its limit.

    `delay` in seconds replaces the kind's backoff; `excused` and `permanent` are as in `Release` and `Fail`.
    """

    event: Event
    result: str | None = None
    delay: float | None = None
    excused: bool = False
    permanent: bool = False
    error: ErrorEntry | None = None


Attempt: TypeAlias = tuple[Lease, Report]


def report(outcome: Outcome) -> Report:
    """The report of an outcome. A result that cannot be stored is a failure of the attempt, not of its batch."""
    match outcome:
        case Complete(result=result):
            return _completion(result)
        case Fail(error=error, retry_in=retry_in, permanent=permanent):
            return Report(Event.FAIL, delay=retry_in, permanent=permanent, error=entry("failed", error))
        case RetryAfter(seconds=seconds):
            return Report(
                Event.FAIL, delay=seconds, error=ErrorEntry("failed", "RetryAfter", f"again in {seconds:g} s")
            )
        case Snooze(seconds=seconds):
            return Report(Event.SNOOZE, delay=seconds, excused=True)
        case Release(reason=reason, excused=excused):
            return Report(Event.RELEASE, excused=excused, error=replace(entry("released", reason), type="Release"))
        case Cancel(reason=reason):
            return Report(Event.CANCEL, error=replace(entry("failed", reason), type="Cancel"))
        case Discard(reason=reason):
            return Report(Event.DISCARD, error=replace(entry("failed", reason), type="Discard"))
    raise TypeError(f"{type(outcome).__name__} is not an outcome: return Complete, Fail, Snooze …, or a JSON value")


def entry(event: ErrorEvent, error: str | BaseException) -> ErrorEntry:
    """An error as it is kept on the job: cleaned and cut."""
    kind, message, traceback = describe(error)
    return ErrorEntry(event, kind, message, traceback)


def _completion(result: JSON) -> Report:
    try:
        return Report(Event.COMPLETE, result=None if result is None else encode(result))
    except Unstorable as problem:
        return Report(
            Event.FAIL, error=ErrorEntry("failed", "UnstorableResult", f"the result cannot be kept: {problem}")
        )
