"""A worker at work: claims, runs, settles, until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from howdah.events import JobsClaimed, WorkerStarted, WorkerStopped, WorkerStopping
from howdah.model.job import ClaimedJob, Drained, Policy, Vitals, WorkerInfo
from howdah.worker import stopping
from howdah.worker.attempt import Attempt
from howdah.worker.claimer import Claimer
from howdah.worker.handler import Handler
from howdah.worker.health import Health, Phase, Pulses, tick
from howdah.worker.leasekeeper import LeaseKeeper
from howdah.worker.lifespan import Lifespan
from howdah.worker.middleware import NO_SEAMS, Seams
from howdah.worker.observers import Observers
from howdah.worker.runner import Committed, Ended, Runner
from howdah.worker.settings import WorkerSettings
from howdah.worker.settler import Pending, Settler
from howdah.worker.slots import LONGEST_WAIT, QueueSlots
from howdah.worker.source import JobSource, Settled
from howdah.worker.stopping import Stop
from howdah.worker.suspects import Suspects
from howdah.worker.tally import Tally
from howdah.worker.threads import Threads
from howdah.worker.verdict import GIVEN_BACK
from howdah.worker.waiting import to_its_end

log = logging.getLogger(__name__)


class WorkLoop:
    """Runs the jobs of a source, once: `run` or `drain`. `stop` and `abandon` may be called from any thread.

    Whoever has further loops of this worker adds them to `pulses`.
    """

    def __init__(
        self,
        source: JobSource,
        handlers: Mapping[str, Handler],
        settings: WorkerSettings,
        *,
        worker: WorkerInfo,
        policies: Sequence[Policy] = (),
        seams: Seams = NO_SEAMS,
        pulses: Pulses | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._worker = worker
        self._policies = policies
        self._clock = clock
        self._pulses = pulses or Pulses(clock)
        self._queues = {name: QueueSlots(slots, settings.prefetch) for name, slots in settings.queues.items()}
        self._running: set[Attempt] = set()
        self._observers = Observers(seams.observers)
        self._tally = Tally(self._observers)
        self._threads = Threads(settings.thread_count)
        self._lifespan = Lifespan(seams.lifespan)
        self._keeper = LeaseKeeper(source, self._interrupt_soon, self._vitals, self._pulses, clock)
        self._suspects = Suspects()
        self._runner = Runner(
            source, handlers, self._threads, self._suspects, self._keeper, seams.middleware, self._observers, clock
        )
        self._settler = Settler(source, self._settled, self._pulses.of("settling"), clock)
        self._claimer = Claimer(source, self._queues, self._deliver, settings.poll, self._pulses, clock)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._claiming: asyncio.Future[None] | None = None
        self._unclaimed = asyncio.Event()  # a last claim during the stop is not waited for any more
        self._asked: set[Callable[[], None]] = set()
        self._stopping = Stop(settings.grace, clock)
        self._phase: Phase = "starting"
        self._returns = True  # what is prefetched and does not begin goes back

    async def run(self) -> None:
        """Work until `stop`; cancelling it is a graceful stop too. Raises what `source.open` raises."""
        await self._serve(self._claimer.run)

    async def drain(self, limit: int | None = None, timeout: float | None = None) -> Drained:
        """Work until nothing is available and nothing runs, `limit` attempts were made, or `timeout` seconds are over.

        It does not wait for what is due later. At the timeout it stops gracefully.
        """
        self._returns = limit is None
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

    def grace_left(self) -> float:
        """How many seconds of the grace period are left; all of it before a stop."""
        return self._stopping.left()

    def health(self) -> Health:
        """How it is; from any thread."""
        return self._pulses.look(self._phase)

    async def _serve(self, claim: Callable[[], Awaitable[None]]) -> None:
        self._loop = asyncio.get_running_loop()
        self._claiming = claiming = asyncio.ensure_future(self._work(claim))
        settling = asyncio.ensure_future(self._settler.run())
        unclaimed = asyncio.ensure_future(self._unclaimed.wait())
        broken = asyncio.ensure_future(self._lifespan.break_down())
        ticking = asyncio.ensure_future(tick(self._pulses.of("event loop")))
        slots = [asyncio.ensure_future(self._slot(q)) for q in self._queues.values() for _ in range(q.slots)]
        for step in tuple(self._asked):  # before there was a loop to ask
            step()
        try:
            await asyncio.wait({claiming, settling, unclaimed, broken}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._stop()
            try:
                await asyncio.wait({claiming, unclaimed}, return_when=asyncio.FIRST_COMPLETED)
                await self._finish(slots, settling)
            finally:
                ends = self._end([claiming, settling, unclaimed, broken, ticking, *slots])
                await to_its_end(asyncio.ensure_future(ends))
        for task in (claiming, settling):
            if task.done() and not task.cancelled():
                task.result()  # what `open` raised; else only a bug, and that must be seen
        self._lifespan.complain()

    async def _work(self, claim: Callable[[], Awaitable[None]]) -> None:
        await self._lifespan.begin()
        await self._source.open(self._worker, self._policies)
        self._pulses.answered()
        if self._source.keeps_leases:
            self._keeper.start()
        if not self._stopping.asked:
            self._phase = "working"
        self._observers.tell(WorkerStarted(self._worker))
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
            except asyncio.CancelledError:
                raise
            except BaseException:
                log.exception("job %d: this is a bug in the worker; its lease is left to expire", attempt.job.id)
                self._let_go((attempt,))
            finally:
                self._running.discard(attempt)
                queue.free(self._clock() - began)
                self._claimer.changed(queue)

    def _conclude(self, attempt: Attempt, ended: Ended) -> None:
        attempt.ended = True  # and then look: whoever finds it ended does not call it lost any more
        if isinstance(ended, Committed):
            self._tally.record(attempt, ended.report, ended.state)
        elif ended is not None:
            self._settler.put(attempt, ended)
            return
        else:
            self._tally.lost(attempt)
        self._let_go((attempt,))

    def _deliver(self, jobs: Sequence[ClaimedJob], before: float) -> None:
        if self._observers:
            self._observers.tell(JobsClaimed(jobs))
        attempts: dict[str, list[Attempt]] = {name: [] for name in self._queues}
        for job in jobs:
            attempts[job.queue].append(Attempt(job, before + job.lease_seconds, before))
        for name, claimed in attempts.items():
            self._keeper.hold(claimed)
            if self._stopping.asked:
                self._give_back(claimed)
            else:
                self._queues[name].put(claimed)
        if self._returns:
            asyncio.get_running_loop().call_later(LONGEST_WAIT, self._return_overdue)

    def _return_overdue(self) -> None:
        for queue in self._queues.values():
            self._give_back(queue.overdue(self._clock()))

    def _settled(self, pending: Sequence[Pending], answers: Sequence[Settled | None]) -> None:
        self._let_go([attempt for attempt, _ in pending])
        for (attempt, report), answer in zip(pending, answers, strict=True):
            if answer is not None:
                self._tally.record(attempt, report, answer)

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
            if not attempt.in_thread:
                attempt.task.cancel()
        elif attempt.lost and (queue := self._queues[attempt.job.queue]).drop(attempt):
            self._let_go((attempt,))
            self._tally.lost(attempt)
            self._claimer.changed(queue)

    def _ask(self, step: Callable[[], None]) -> None:
        self._asked.add(step)
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # closed: it has ended already
                self._loop.call_soon_threadsafe(step)

    def _vitals(self) -> Vitals:
        running = tuple(self._running)
        return Vitals(len(running), sum(attempt.stuck for attempt in running), self._stopping.asked)

    def _stop(self) -> None:
        if self._stopping.asked:
            return
        self._stopping.ask()
        if self._phase == "working":
            self._observers.tell(WorkerStopping(self._worker))
        self._phase = "stopping"
        self._runner.stop()
        self._claimer.stop()
        self._keeper.wake()  # the next beat says so
        for queue in self._queues.values():
            self._give_back(queue.close())
        asyncio.get_running_loop().call_later(stopping.CLAIM_ENDS, self._stop_claiming)

    def _stop_claiming(self) -> None:
        if self._claiming is not None:
            self._claiming.cancel()  # and do not wait: a server that hangs may make that hang too
        self._unclaimed.set()

    def _abandon(self) -> None:
        self._stopping.abandon()
        self._stop()
        self._stop_claiming()

    async def _finish(self, slots: Sequence[asyncio.Future[None]], settling: asyncio.Future[None]) -> None:
        over = self._stopping.over_at
        await self._stopping.until(slots, over)
        for attempt in tuple(self._running):
            if attempt.ask("stopping"):
                self._interrupt(attempt)
        await self._stopping.until(slots, over + stopping.HANDLERS_END)
        self._settler.close()
        await self._stopping.until([settling], over + stopping.REPORTS_SENT)

    async def _end(self, tasks: Sequence[asyncio.Future[Any]]) -> None:
        self._keeper.stop(stopping.KEEPER_ENDS)
        for attempt in self._running:
            attempt.ask("stopping")
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=stopping.TASKS_END)
        self._threads.close()
        if self._settler.unsent:
            log.error("%d reports were not sent, their leases expire", self._settler.unsent)
        await self._lifespan.end(max(stopping.LIFESPAN_ENDS, self._stopping.left()))
        self._observers.tell(WorkerStopped(self._worker))
        left = len(self._running)
        log.info("stopped%s", f", {left} attempts are left to their leases" if left else "")
        self._phase = "stopped"
        await self._close()

    async def _close(self) -> None:
        closing = asyncio.ensure_future(self._source.close())
        await asyncio.wait({closing}, timeout=stopping.SOURCE_CLOSES)
        if not closing.done():
            closing.cancel()
            log.warning("the source did not close in time")
        elif not closing.cancelled() and (error := closing.exception()):
            log.warning("the source did not close: %r", error)
