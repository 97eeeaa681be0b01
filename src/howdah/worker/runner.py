"""Runs one attempt: from a claimed job to what is to be reported of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from howdah.model.errors import LeaseLost
from howdah.model.job import ClaimedJob, JobState
from howdah.model.outcome import Event, Report, entry
from howdah.worker.attempt import Attempt
from howdah.worker.context import Context
from howdah.worker.handler import Handler
from howdah.worker.source import JobSource
from howdah.worker.suspects import Suspects
from howdah.worker.threads import Threads
from howdah.worker.transaction import Transaction
from howdah.worker.verdict import GIVEN_BACK, after_failed_settle, interrupted, verdict

UNKNOWN_KIND_DELAY = 60.0  # seconds: about as long as a rolling deploy takes

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Committed:
    """A report that was settled in the attempt's own transaction, and the job's state since."""

    report: Report
    state: JobState


# What is left to do after an attempt: send a report, only count it, or nothing: its lease is lost or left to expire.
Ended: TypeAlias = Report | Committed | None


class Runner:
    """Runs attempts, each once. `stopping`: begin nothing more."""

    def __init__(
        self,
        source: JobSource,
        handlers: Mapping[str, Handler],
        threads: Threads,
        suspects: Suspects,
        wake_keeper: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self.stopping = False
        self._source = source
        self._handlers = handlers
        self._threads = threads
        self._suspects = suspects
        self._wake_keeper = wake_keeper
        self._clock = clock
        self._warned: set[str] = set()

    async def run(self, attempt: Attempt) -> Ended:
        """Run the job's handler; whatever that does, this only raises CancelledError."""
        if attempt.cancel is not None:
            return interrupted(attempt)  # it was told while it waited for a slot
        job = attempt.job
        handler = self._handlers.get(job.kind)
        if handler is None:
            return self._unknown(job.kind)
        try:
            arguments = handler.decode(job.args, job.follow_up)
        except Exception as error:
            return Report(Event.FAIL, error=entry("undecodable", error))
        call = self._call(attempt, handler, arguments)
        if handler.is_async:
            return await self._in_loop(attempt, call)
        async with self._threads.room:
            if self.stopping:
                return GIVEN_BACK
            return await self._in_thread(attempt, call)

    def _unknown(self, kind: str) -> Report:
        if kind not in self._warned:
            self._warned.add(kind)
            log.warning(
                "no handler for kind %r: its jobs are put off by %g s, again and again", kind, UNKNOWN_KIND_DELAY
            )
        return Report(Event.SNOOZE, delay=UNKNOWN_KIND_DELAY, excused=True)

    def _call(self, attempt: Attempt, handler: Handler, arguments: dict[str, Any]) -> Callable[[], Any]:
        if not handler.takes_context:
            return partial(handler.function, **arguments)
        context = Context(
            attempt, self._source, is_async=handler.is_async, wake_keeper=self._wake_keeper, clock=self._clock
        )
        return partial(handler.function, context, **arguments)

    async def _begin(self, attempt: Attempt) -> bool:
        """Whether the handler may begin. After this the handler's first instruction is next."""
        if attempt.job.has_crashed:
            await self._suspects.wait(attempt)
            if self.stopping:
                attempt.ask("stopping")
        if attempt.job.needs_start and attempt.cancel is None:
            attempt.started = True  # before the call: one whose answer is lost may have been written
            try:
                await self._source.start(attempt.job.lease)
            except LeaseLost as lost:
                attempt.ask("lost")
                log.info("not begun: %s", lost)
            except Exception as error:
                attempt.ask("lost")
                log.warning("job %d is not begun and left to expire, its start failed: %r", attempt.job.id, error)
        return attempt.cancel is None

    async def _in_loop(self, attempt: Attempt, call: Callable[[], Any]) -> Ended:
        if not await self._begin(attempt):
            return interrupted(attempt)
        # A task of its own, so that a cancel request ends the handler and never the settling of its transaction.
        task = attempt.task = asyncio.create_task(_awaited(call), name=attempt.job.kind)
        try:
            value, error = await task
        except asyncio.CancelledError as cancelled:
            if not task.cancelled():
                raise
            value, error = None, cancelled  # before its first instruction
        attempt.ended = True
        report, commit = verdict(attempt, value, error)
        transaction = attempt.transaction
        if transaction is None:
            return report
        if report is None or not commit:
            await transaction.aabandon()
            return report
        try:
            return Committed(report, await transaction.asettle(attempt.job, report))
        except Exception as failure:
            await transaction.aabandon()
            return after_failed_settle(attempt, report, failure)

    async def _in_thread(self, attempt: Attempt, call: Callable[[], Any]) -> Ended:
        if not await self._begin(attempt):
            return interrupted(attempt)
        return await self._threads.run(partial(_to_the_end, attempt, call))


async def _awaited(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return await call(), None
    except BaseException as error:  # sys.exit in a handler ends its attempt, not the worker
        return None, error


def _to_the_end(attempt: Attempt, call: Callable[[], Any]) -> Ended:
    """The handler and its settling, both in the handler's thread: a connection never changes threads in use."""
    value, error = None, None
    try:
        value = call()
    except BaseException as raised:  # sys.exit in a handler ends its attempt, not the worker
        error = raised
    attempt.ended = True
    report, commit = verdict(attempt, value, error)
    transaction = attempt.transaction
    if transaction is None:
        return report
    if report is None or not commit:
        transaction.abandon()
        return report
    return _settled(attempt, transaction, report)


def _settled(attempt: Attempt, transaction: Transaction, report: Report) -> Ended:
    job: ClaimedJob = attempt.job
    try:
        return Committed(report, transaction.settle(job, report))
    except Exception as failure:
        transaction.abandon()
        return after_failed_settle(attempt, report, failure)
