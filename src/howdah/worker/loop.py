"""A worker at work: claims, runs, settles, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from howdah.model.job import ClaimedJob, Drained, Policy, WorkerInfo
from howdah.worker.attempt import Attempt
from howdah.worker.claimer import Claimer
from howdah.worker.handler import Handler
from howdah.worker.leasekeeper import LeaseKeeper
from howdah.worker.runner import Committed, Ended, Runner
from howdah.worker.settings import WorkerSettings
from howdah.worker.settler import Pending, Settler
from howdah.worker.slots import QueueSlots
from howdah.worker.source import JobSource, Settled
from howdah.worker.suspects import Suspects
from howdah.worker.tally import Tally
from howdah.worker.threads import Threads
from howdah.worker.verdict import GIVEN_BACK

# How long the steps of a stop may take beyond the grace period: in sum less than 2 seconds, whatever hangs.
CLAIM_ENDS = 0.5
HANDLERS_END = 0.8
REPORTS_SENT = 1.3
TASKS_END = 0.1
SOURCE_CLOSES = 0.3

log = logging.getLogger(__name__)


class WorkLoop:
    """Runs the jobs of a source, once: `run` or `drain`. `stop` and `abandon` may be called from any thread."""

    def __init__(
        self,
        source: JobSource,
        handlers: Mapping[str, Handler],
        settings: WorkerSettings,
        *,
        worker: WorkerInfo,
        policies: Sequence[Policy] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._settings = settings
        self._worker = worker
        self._policies = policies
        self._clock = clock
        self._queues = {name: QueueSlots(slots, settings.prefetch) for name, slots in settings.queues.items()}
        self._running: set[Attempt] = set()
        self._tally = Tally()
        self._threads = Threads(settings.thread_count)
        self._keeper = LeaseKeeper(source, self._interrupt_soon, lambda: len(self._running), clock)
        self._suspects = Suspects()
        self._runner = Runner(source, handlers, self._threads, self._suspects, self._keeper.wake, clock)
        self._settler = Settler(source, self._settled, clock)
        self._claimer = Claimer(source, self._queues, self._deliver, settings.poll, clock)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._claiming: asyncio.Task[None] | None = None
        self._asked: set[Callable[[], None]] = set()
        self._stopped_at: float | None = None
        self._abandoned = asyncio.Event()

    async def run(self) -> None:
        """Work until `stop`; cancelling it is a graceful stop too. Raises what `source.open` raises."""
        await self._serve(self._claimer.run)

    async def drain(self, limit: int | None = None, timeout: float | None = None) -> Drained:
        """Work until nothing is available and nothing runs, `limit` attempts were made, or `timeout` seconds are over.

        It does not wait for what is due later. At the timeout it stops gracefully.
        """
        timer = None if timeout is None else asyncio.get_running_loop().call_later(timeout, self._stop)
        try:
            await self._serve(lambda: self._claimer.run_dry(limit, self._settler.flush))
        finally:
            if timer is not None:
                timer.cancel()
        return self._tally.drained()

    def stop(self) -> None:
        """Claim no more, give back what has not begun, and end when the running attempts have, or after the grace."""
        self._ask(self._stop)

    def abandon(self) -> None:
        """End at once: no reports, the leases expire."""
        self._ask(self._abandon)

    async def _serve(self, claim: Callable[[], Awaitable[None]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._claiming = claiming = asyncio.ensure_future(self._work(claim))
        settling = asyncio.ensure_future(self._settler.run())
        slots = [asyncio.ensure_future(self._slot(q)) for q in self._queues.values() for _ in range(q.slots)]
        for step in tuple(self._asked):  # before there was a loop to ask
            step()
        try:
            await asyncio.wait({claiming, settling}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            try:
                await self._finish(slots, settling)
            finally:
                await self._end([claiming, settling, *slots])
        for task in (claiming, settling):
            if task.done() and not task.cancelled():
                task.result()  # what `open` raised; else only a bug, and that must be seen

    async def _work(self, claim: Callable[[], Awaitable[None]]) -> None:
        await self._source.open(self._worker, self._policies)
        if self._source.keeps_leases:
            self._keeper.start()
        await claim()

    async def _slot(self, queue: QueueSlots) -> None:
        while (attempt := await queue.take()) is not None:
            self._running.add(attempt)
            self._claimer.changed(queue)
            attempt.began_at = began = self._clock()
            try:
                self._conclude(attempt, await self._runner.run(attempt))
                if self._settler.full:
                    await self._settler.room()
            except Exception:
                log.exception("job %d: this is a bug in the worker; its lease is left to expire", attempt.job.id)
                self._let_go((attempt,))
            finally:
                self._running.discard(attempt)
                queue.free(self._clock() - began)
                self._claimer.changed(queue)

    def _conclude(self, attempt: Attempt, ended: Ended) -> None:
        attempt.ended = True  # and then look: whoever finds it ended does not call it lost any more
        if isinstance(ended, Committed):
            self._tally.record(attempt.job, ended.report, ended.state)
        elif ended is not None:
            self._settler.put(attempt, ended)
            return
        self._let_go((attempt,))

    def _deliver(self, jobs: Sequence[ClaimedJob], before: float) -> None:
        attempts: dict[str, list[Attempt]] = {name: [] for name in self._queues}
        for job in jobs:
            attempts[job.queue].append(Attempt(job, before + job.lease_seconds))
        for name, claimed in attempts.items():
            self._keeper.hold(claimed)
            if self._stopped_at is None:
                self._queues[name].put(claimed)
            else:
                self._give_back(claimed)

    def _settled(self, pending: Sequence[Pending], answers: Sequence[Settled | None]) -> None:
        self._let_go([attempt for attempt, _ in pending])
        for (attempt, report), answer in zip(pending, answers, strict=True):
            if answer is not None:
                self._tally.record(attempt.job, report, answer)

    def _let_go(self, attempts: Sequence[Attempt]) -> None:
        self._keeper.let_go(attempts)
        for attempt in attempts:
            self._suspects.over(attempt)

    def _give_back(self, attempts: Iterable[Attempt]) -> None:
        for attempt in attempts:
            attempt.ended = True
            if not attempt.lost:
                self._settler.put(attempt, GIVEN_BACK)

    def _interrupt_soon(self, attempt: Attempt) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # closed: nothing is left to interrupt
                self._loop.call_soon_threadsafe(self._interrupt, attempt)

    def _interrupt(self, attempt: Attempt) -> None:
        if attempt.task is not None:
            attempt.task.cancel()
        elif attempt.lost and (queue := self._queues[attempt.job.queue]).drop(attempt):
            self._claimer.changed(queue)

    def _ask(self, step: Callable[[], None]) -> None:
        self._asked.add(step)
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # closed: it has ended already
                self._loop.call_soon_threadsafe(step)

    def _stop(self) -> None:
        if self._stopped_at is not None:
            return
        self._stopped_at = self._clock()
        self._runner.stopping = True
        self._claimer.stop()
        self._keeper.stopping()
        for queue in self._queues.values():
            self._give_back(queue.close())
        if self._claiming is not None:
            asyncio.get_running_loop().call_later(CLAIM_ENDS, self._claiming.cancel)

    def _abandon(self) -> None:
        self._abandoned.set()
        self._stop()
        if self._claiming is not None:
            self._claiming.cancel()

    async def _finish(self, slots: Sequence[asyncio.Future[None]], settling: asyncio.Future[None]) -> None:
        self._stop()
        over = (self._stopped_at or 0.0) + self._settings.grace
        await self._until(slots, over)
        for attempt in tuple(self._running):
            if attempt.ask("stopping"):
                self._interrupt(attempt)
        await self._until(slots, over + HANDLERS_END)
        self._settler.close()
        await self._until([settling], over + REPORTS_SENT)

    async def _until(self, tasks: Sequence[asyncio.Future[None]], moment: float) -> None:
        """Wait for all the tasks, but not over the moment nor after `abandon`."""
        if self._abandoned.is_set():
            return
        ended = asyncio.ensure_future(asyncio.wait(tasks))
        abandoned = asyncio.ensure_future(self._abandoned.wait())
        try:
            patience = max(0.0, moment - self._clock())
            await asyncio.wait({ended, abandoned}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            abandoned.cancel()

    async def _end(self, tasks: Sequence[asyncio.Future[Any]]) -> None:
        self._keeper.stop()
        for attempt in self._running:
            attempt.ask("stopping")
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=TASKS_END)
        self._threads.close()
        if self._settler.unsent:
            log.error("%d reports were not sent, their leases expire", self._settler.unsent)
        closing = asyncio.ensure_future(self._source.close())
        await asyncio.wait({closing}, timeout=SOURCE_CLOSES)
        if not closing.done():
            closing.cancel()
            log.warning("the source did not close in time")
        elif not closing.cancelled() and (error := closing.exception()):
            log.warning("the source did not close: %r", error)
