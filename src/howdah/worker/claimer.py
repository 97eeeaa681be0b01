"""Keeps the slots busy: claims as long as there is room, and sleeps until there is reason to look again."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence

from howdah.model.job import ClaimedJob
from howdah.model.limits import MAX_BATCH
from howdah.worker.health import STALLED_AFTER, Pulses
from howdah.worker.slots import QueueSlots
from howdah.worker.source import JobSource
from howdah.worker.trouble import Trouble


class Claimer:
    """`deliver(jobs, before)` gets every claim, with the time before it was asked for."""

    def __init__(
        self,
        source: JobSource,
        queues: Mapping[str, QueueSlots],
        deliver: Callable[[Sequence[ClaimedJob], float], None],
        poll: float,
        pulses: Pulses,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._queues = queues
        self._order = list(queues)
        self._deliver = deliver
        self._poll = poll
        self._pulses = pulses
        self._pulse = pulses.of("claiming", STALLED_AFTER + 2 * poll)
        self._clock = clock
        self._stopping = False
        self._reason = asyncio.Event()  # to look again
        self._trouble = Trouble("claiming")

    def stop(self) -> None:
        """Claim no more."""
        self._stopping = True
        self._reason.set()

    def changed(self, queue: QueueSlots) -> None:
        """A slot or its buffer has emptied. That matters only for a queue that had more jobs than room."""
        if queue.more and not self._reason.is_set() and queue.room():
            self._reason.set()

    async def run(self) -> None:
        """Claim until `stop`."""
        try:
            while not self._stopping:
                self._pulse.beat()
                try:
                    await self._turn()
                except Exception as error:
                    await self._back_off(error)
                else:
                    self._trouble.over()
        finally:
            self._pulse.rest()

    async def run_dry(self, limit: int | None, flush: Callable[[], Awaitable[None]]) -> None:
        """Claim until nothing comes and nothing runs, or until `limit` jobs were claimed and have ended."""
        left = MAX_BATCH if limit is None else limit
        settled = False  # whether nothing ran and nothing was unsettled before the claim
        while not self._stopping and left > 0:
            try:
                claimed = await self._claim(left)
            except Exception as error:
                await self._back_off(error)
                continue
            self._trouble.over()
            if claimed is None:
                continue
            if limit is not None:
                left -= claimed
            if claimed:
                settled = False
            elif self._busy():
                await self._freed_slot()
            elif settled:
                return
            else:
                await flush()  # what is settled now may make the next job available
                settled = True
        while not self._stopping and self._busy():
            await self._freed_slot()
        await flush()

    async def _turn(self) -> None:
        await self._claim()
        if self._stopping or self._more():
            return
        await self._source.arm()
        await self._claim()  # what came between the last claim and the arming rang no bell
        if not self._more():
            await self._sleep()

    async def _claim(self, most: int = MAX_BATCH) -> int | None:
        """Claim for the queues that have room, and give the number; None after a wait for room, where none has."""
        if self._stopping:
            return None
        self._reason.clear()
        quotas = {name: room for name in self._order if (room := self._queues[name].room())}
        if not quotas:
            await self._freed_slot()
            return None
        self._order.append(self._order.pop(0))  # the first is served first, so each is first in turn
        limit = min(sum(quotas.values()), most)
        before = self._clock()
        jobs = await self._source.claim(quotas, limit)
        self._pulses.answered()
        got = Counter(job.queue for job in jobs)
        for name, quota in quotas.items():
            self._queues[name].more = got[name] >= quota or len(jobs) >= limit
        if jobs:
            self._deliver(jobs, before)
        return len(jobs)

    def _more(self) -> bool:
        return any(queue.more and queue.room() for queue in self._queues.values())

    def _busy(self) -> bool:
        return any(queue.busy for queue in self._queues.values())

    async def _freed_slot(self) -> None:
        for queue in self._queues.values():
            queue.more = True
        self._reason.clear()
        if not self._stopping:
            self._pulse.rest()
            await self._reason.wait()
            self._pulse.beat()

    async def _sleep(self) -> None:
        if self._stopping:
            return
        seconds = self._poll * random.uniform(0.8, 1.2)  # noqa: S311  only so that workers do not poll in step
        bell = asyncio.ensure_future(self._source.wait(seconds))
        reason = asyncio.ensure_future(self._reason.wait())
        try:
            await asyncio.wait({bell, reason}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            reason.cancel()
            bell.cancel()
        await asyncio.wait({bell})  # two calls of the source never overlap
        if not bell.cancelled():
            bell.result()

    async def _back_off(self, error: Exception) -> None:
        try:
            async with asyncio.timeout(self._trouble.delay(error)):
                self._reason.clear()
                while not self._stopping:
                    await self._reason.wait()
                    self._reason.clear()
        except TimeoutError:
            pass
