"""What an attempt comes to: decided from how its handler ended, without any I/O."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Any

from howdah.model.errors import LeaseLost
from howdah.model.job import JobState
from howdah.model.outcome import Complete, ErrorEntry, Event, Fail, Outcome, Report, entry, report
from howdah.model.source_errors import TransactionFailed
from howdah.worker.attempt import Attempt

# A job that this worker will not run after all. Compared by identity: it is not the handler's own Release.
GIVEN_BACK = Report(Event.RELEASE, excused=True)
COMPLETED = Report(Event.COMPLETE)

log = logging.getLogger(__name__)


def verdict(attempt: Attempt, value: Any, error: BaseException | None) -> tuple[Report | None, bool]:
    """What to report of a handler that returned `value` or raised `error`, and whether in its own transaction."""
    if attempt.lost:
        return None, False
    if attempt.cancel == "timeout":
        return timed_out(attempt, error), False
    if error is not None:
        if isinstance(error, asyncio.CancelledError) and attempt.cancel is not None:
            return interrupted(attempt), False
        return _report(error if isinstance(error, Outcome) else Fail(error)), False
    transaction = attempt.transaction
    if value is None and transaction is None:
        return COMPLETED, False
    outcome = value if isinstance(value, Outcome) else Complete(value)
    made = _report(outcome)
    if transaction is None:
        return made, False
    if transaction.rolled_back and made.event is Event.COMPLETE:
        return Report(Event.FAIL, error=entry("failed", "its transaction was rolled back")), False
    # A result that cannot be kept is a failure that the handler did not choose: its writes must not outlive it.
    unkept = isinstance(outcome, Complete) and made.event is not Event.COMPLETE
    return made, transaction.is_open and not unkept


def interrupted(attempt: Attempt) -> Report | None:
    """What to report of an attempt that was asked to end and did, or that never began."""
    match attempt.cancel:
        case "cancelled" | "superseded" as reason:
            return Report(Event.FAIL, error=entry("failed", f"the job was {reason} while it ran"))
        case "stopping" if not attempt.started:
            return GIVEN_BACK
        case "timeout":
            return timed_out(attempt, None)
    return None  # lost; or begun, and not to begin a second time: left to expire


def timed_out(attempt: Attempt, error: BaseException | None) -> Report:
    """What to report of a handler that ended after its time was up, whatever it says; `error` shows where it was."""
    where = None if error is None else entry("timeout", error).traceback
    limited = attempt.timeout < math.inf
    message = f"its handler took longer than {attempt.timeout:g} s" if limited else "a middleware did not wait for it"
    return Report(Event.FAIL, error=ErrorEntry("timeout", "TimeoutError", message, where))


def after_failed_settle(attempt: Attempt, made: Report, failure: Exception) -> Report | None:
    """What to report the normal way after the attempt's own transaction could not be committed."""
    if isinstance(failure, LeaseLost):
        log.info("rolled back: %s", failure)
        if failure.reason == "superseded" and failure.state is JobState.RUNNING:
            # The lease is still this worker's. Not a completion: should the job not be outdated any more, then its
            # writes are gone, and it has to run again.
            return Report(Event.FAIL, error=entry("failed", "a newer job of its subject came while it ran"))
        return made  # it is refused; of a job that is unknown it is kept as evidence
    if isinstance(failure, TransactionFailed):
        return _report(Fail(failure.cause))
    log.warning(
        "job %d: whether its transaction was committed is not known; if not, its lease expires: %r",
        attempt.job.id,
        failure,
    )
    return None


def _report(outcome: Outcome) -> Report:
    try:
        return report(outcome)
    except Exception as error:
        return Report(Event.FAIL, error=entry("failed", error))
