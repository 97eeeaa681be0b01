"""Runs one attempt: from a claimed job to what is to be reported of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from howdah.events import JobBegan
from howdah.model.errors import LeaseLost
from howdah.model.job import ClaimedJob, JobState
from howdah.model.outcome import Event, Report, entry
from howdah.model.source_errors import NothingSent
from howdah.worker.attempt import Attempt
from howdah.worker.context import Context
from howdah.worker.handler import Handler
from howdah.worker.leasekeeper import LeaseKeeper
from howdah.worker.middleware import CallNext, Middleware, chain
from howdah.worker.observers import Observers
from howdah.worker.source import JobSource
from howdah.worker.suspects import Suspects
from howdah.worker.threads import Threads
from howdah.worker.transaction import Transaction
from howdah.worker.verdict import GIVEN_BACK, after_failed_settle, interrupted, verdict
from howdah.worker.waiting import to_its_end

UNKNOWN_KIND_DELAY = 60.0  # seconds: about as long as a rolling deploy takes
THREAD_WAIT = 5.0  # seconds that a job waits for a thread before it goes back, since hung handlers may have them all

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Committed:
    """A report that was settled in the attempt's own transaction, and the job's state since."""

    report: Report
    state: JobState


# What is left to do after an attempt: send a report, only count it, or nothing: its lease is lost or left to expire.
Ended: TypeAlias = Report | Committed | None

# What a handler returned, or what it raised.
Returned: TypeAlias = tuple[Any, BaseException | None]


class Runner:
    """Runs attempts, each once."""

    def __init__(
        self,
        source: JobSource,
        handlers: Mapping[str, Handler],
        threads: Threads,
        suspects: Suspects,
        keeper: LeaseKeeper,
        middleware: Sequence[Middleware],
        observers: Observers,
        clock: Callable[[], float],
    ) -> None:
        self._stopped = asyncio.Event()
        self._source = source
        self._handlers = handlers
        self._threads = threads
        self._suspects = suspects
        self._keeper = keeper
        self._middleware = middleware
        self._observers = observers
        self._clock = clock
        self._warned: set[str] = set()

    @property
    def stopping(self) -> bool:
        """Whether nothing more is to begin."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Begin nothing more."""
        self._stopped.set()

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
        except BaseException as error:  # a type's own code may raise anything
            return Report(Event.FAIL, error=entry("undecodable", error))
        if handler.is_async:
            return await self._attempt(attempt, handler, arguments)
        if not await self._has_thread():
            return GIVEN_BACK
        try:
            return await self._attempt(attempt, handler, arguments)
        finally:
            self._threads.room.release()

    async def _has_thread(self) -> bool:
        """Whether there is a thread for a handler, now or soon; its room is to be released then."""
        room = self._threads.room
        if not room.locked():
            await room.acquire()
            return True
        acquiring, stopped = asyncio.ensure_future(room.acquire()), asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait({acquiring, stopped}, timeout=THREAD_WAIT, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopped.cancel()
            has_one = acquiring.done() and not acquiring.cancelled()
            if not has_one:
                acquiring.cancel()
            elif self.stopping:
                room.release()
        return has_one and not self.stopping

    def _unknown(self, kind: str) -> Report:
        if kind not in self._warned:
            self._warned.add(kind)
            log.warning(
                "no handler for kind %r: its jobs are put off by %g s, again and again", kind, UNKNOWN_KIND_DELAY
            )
        return Report(Event.SNOOZE, delay=UNKNOWN_KIND_DELAY, excused=True)

    async def _attempt(self, attempt: Attempt, handler: Handler, arguments: dict[str, Any]) -> Ended:
        if not await self._begin(attempt):
            return interrupted(attempt)
        began = self._clock()
        attempt.begin(began, timeout=handler.timeout, stall_timeout=handler.stall_timeout)
        if handler.timeout is not None:
            self._keeper.watch(attempt)
        if self._observers:
            self._observers.tell(JobBegan(attempt.job))
        value, error = await self._called(attempt, handler, arguments)
        attempt.ended = True
        attempt.took = self._clock() - began
        try:
            report, commit = verdict(attempt, value, error)
        except BaseException as hostile:  # from the code of what was returned or raised
            report, commit = Report(Event.FAIL, error=entry("failed", hostile)), False
        if attempt.transaction is None:
            return report
        return await self._settled(attempt, attempt.transaction, report, commit, is_async=handler.is_async)

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
            except NothingSent as error:
                attempt.started = False
                attempt.ask("stopping")
                log.info("job %d is not begun and given back: %s", attempt.job.id, error)
            except Exception as error:
                attempt.ask("lost")
                log.warning("job %d is not begun and left to expire, its start failed: %r", attempt.job.id, error)
        if attempt.fence_at <= self._clock():
            attempt.ask("lost")  # the process was stopped for so long, and the fence's thread has not had its turn yet
        return attempt.cancel is None

    async def _called(self, attempt: Attempt, handler: Handler, arguments: dict[str, Any]) -> Returned:
        """What the handler, and the middleware around it, returned or raised."""
        if not handler.is_async and not self._middleware:
            call: Callable[[], Returned] = partial(_returned, self._bound(attempt, handler, arguments))
            return await self._threads.run(call)

        async def innermost(job: ClaimedJob, /) -> Any:
            given = arguments if job is attempt.job else handler.decode(job.args, job.follow_up)
            call = self._bound(attempt, handler, given, job)
            return await (call() if handler.is_async else self._in_thread(attempt, call))

        # A task of its own, so that a cancel request ends the handler and never the settling of its transaction.
        outermost = chain(self._middleware, innermost)
        task: asyncio.Task[Returned] = asyncio.create_task(_awaited(outermost, attempt.job), name=attempt.job.kind)
        attempt.task = task
        try:
            return await task
        except asyncio.CancelledError as cancelled:
            if not task.cancelled():
                raise
            return None, cancelled  # before its first instruction

    async def _in_thread(self, attempt: Attempt, call: Callable[[], Any]) -> Any:
        """The handler in its thread. A middleware that does not wait any more has to: the thread cannot be stopped."""
        attempt.in_thread = True
        running = asyncio.ensure_future(self._threads.run(partial(_returned, call)))
        try:
            value, error = await to_its_end(running, lambda: _give_up(attempt))
        finally:
            attempt.in_thread = False
            if attempt.cancel in ("lost", "timeout") and attempt.task is not None:
                attempt.task.cancel()  # told while the thread ran; what the middleware does now is of no use
        if error is not None:
            raise error
        return value

    def _bound(
        self, attempt: Attempt, handler: Handler, arguments: dict[str, Any], job: ClaimedJob | None = None
    ) -> Callable[[], Any]:
        if not handler.takes_context:
            return partial(handler.function, **arguments)
        context = Context(
            attempt,
            self._source,
            is_async=handler.is_async,
            headers=(job or attempt.job).headers,
            wake_keeper=self._keeper.wake,
            clock=self._clock,
        )
        return partial(handler.function, context, **arguments)

    async def _settled(
        self, attempt: Attempt, transaction: Transaction, report: Report | None, commit: bool, *, is_async: bool
    ) -> Ended:
        """The attempt's transaction, committed together with the report or rolled back."""
        attempt.settling_at = self._clock()
        try:
            if report is None or not commit:
                await self._abandoned(transaction, is_async)
                return report
            try:
                if is_async:
                    state = await transaction.asettle(attempt.job, report)
                else:
                    state = await self._threads.run(partial(transaction.settle, attempt.job, report))
            except Exception as failure:
                await self._abandoned(transaction, is_async)
                return after_failed_settle(attempt, report, failure)
            return Committed(report, state)
        finally:
            attempt.settling_at = None  # a report that is left goes the normal way, and its lease is kept for it

    async def _abandoned(self, transaction: Transaction, is_async: bool) -> None:
        if is_async:
            await transaction.aabandon()
        else:
            await self._threads.run(transaction.abandon)


def _give_up(attempt: Attempt) -> None:
    if attempt.cancel is None:
        attempt.ask("timeout")


async def _awaited(call: CallNext, job: ClaimedJob) -> Returned:
    try:
        return await call(job), None
    except BaseException as error:  # sys.exit in a handler ends its attempt, not the worker
        return None, error


def _returned(call: Callable[[], Any]) -> Returned:
    try:
        return call(), None
    except BaseException as error:  # sys.exit in a handler ends its attempt, not the worker
        return None, error
