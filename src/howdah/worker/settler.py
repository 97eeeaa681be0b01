"""Sends reports in groups, and again until they are answered."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from howdah.model.outcome import Event, Report, entry
from howdah.model.source_errors import BatchRefused
from howdah.worker.attempt import Attempt
from howdah.worker.health import Pulse
from howdah.worker.source import JobSource, Settled
from howdah.worker.trouble import Trouble

ENOUGH = 100  # reports to send without waiting for more
PATIENCE = 0.005  # seconds to wait for more
MAX_BATCH = 500
MAX_UNSENT = 10_000
# A report after the end of the lease is accepted as long as no reaper has acted, and refused harmlessly afterwards.
TOO_LATE = 60.0

Pending: TypeAlias = tuple[Attempt, Report]

log = logging.getLogger(__name__)


class Settler:
    """`settled(pending, answer)` is called for each report in order; an answer of None: it was dropped."""

    def __init__(
        self,
        source: JobSource,
        settled: Callable[[Sequence[Pending], Sequence[Settled | None]], None],
        pulse: Pulse,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._settled = settled
        self._pulse = pulse
        self._clock = clock
        self._reports: deque[Pending] = deque()
        self._sending = 0
        self._some = asyncio.Event()
        self._enough = asyncio.Event()
        self._room = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = asyncio.Event()
        self._trouble = Trouble("settling")

    @property
    def unsent(self) -> int:
        """How many reports are not answered yet."""
        return len(self._reports) + self._sending

    @property
    def full(self) -> bool:
        """Whether to wait for `room` before the next report."""
        return self.unsent >= MAX_UNSENT

    def put(self, attempt: Attempt, report: Report) -> None:
        """Take a report. It goes out within milliseconds."""
        attempt.send_until = attempt.deadline + TOO_LATE  # as of now: extensions must not keep it for ever
        if not self._reports:
            self._idle.clear()
            self._some.set()
        self._reports.append((attempt, report))
        if len(self._reports) >= ENOUGH:
            self._enough.set()

    async def room(self) -> None:
        """Wait until it is not full."""
        while self.full:
            self._room.clear()
            await self._room.wait()

    async def flush(self) -> None:
        """Wait until every report is answered or dropped."""
        if self._reports:
            self._enough.set()
        await self._idle.wait()

    def close(self) -> None:
        """Send what there is; then `run` ends."""
        self._closing.set()
        self._some.set()
        self._enough.set()

    async def run(self) -> None:
        """Send until `close`, and then what is left."""
        while self._reports or not self._closing.is_set():
            self._pulse.rest()
            await self._some.wait()
            self._pulse.beat()
            await _wait_at_most(self._enough, PATIENCE)
            batch = [self._reports.popleft() for _ in range(min(len(self._reports), MAX_BATCH))]
            if not self._closing.is_set():
                _set_if(self._some, bool(self._reports))
                _set_if(self._enough, len(self._reports) >= ENOUGH)
            self._sending = len(batch)
            await self._send(batch)
            self._sending = 0
            self._room.set()
            if not self._reports:
                self._idle.set()
        self._pulse.rest()

    async def _send(self, batch: list[Pending]) -> None:
        """Settle all of it; a batch that is refused is halved down to the one report at fault.

        What cannot be settled now goes back behind the others: a row that somebody holds must not hold them up.
        """
        parts = [batch] if batch else []
        while parts:
            part = parts.pop()
            self._pulse.beat()
            try:
                answers = await self._source.settle([(attempt.job, report) for attempt, report in part])
            except BatchRefused as refused:
                parts.extend(self._smaller(part, refused.cause))
            except Exception as error:
                await self._wait_after(error)
                self._take_back(part)
            else:
                self._trouble.over()
                self._settled(part, answers)
            parts = [part for part in parts if part]

    def _take_back(self, part: list[Pending]) -> None:
        self._sending -= len(part)
        self._reports.extend(self._worth_sending(part))
        if self._reports:
            self._some.set()

    def _smaller(self, part: list[Pending], cause: BaseException) -> list[list[Pending]]:
        if len(part) > 1:
            middle = len(part) // 2
            return [part[middle:], part[:middle]]
        attempt, report = part[0]
        failure = Report(Event.FAIL, error=entry("failed", cause))
        if report.event is Event.FAIL and report.error == failure.error:
            log.error("job %d: no report of it can be written, its lease expires: %r", attempt.job.id, cause)
            self._settled(part, [None])
            return []
        return [[(attempt, failure)]]

    async def _wait_after(self, error: Exception) -> None:
        delay = self._trouble.delay(error)
        if self._closing.is_set():
            await asyncio.sleep(min(delay, 0.1))  # little time is left
        else:
            await _wait_at_most(self._closing, delay)

    def _worth_sending(self, part: list[Pending]) -> list[Pending]:
        now = self._clock()
        late = [pending for pending in part if pending[0].send_until < now]
        if not late:
            return part
        log.error("%d reports are dropped: their leases ended over %g s ago", len(late), TOO_LATE)
        self._settled(late, [None] * len(late))
        return [pending for pending in part if pending[0].send_until >= now]


async def _wait_at_most(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass


def _set_if(event: asyncio.Event, value: bool) -> None:
    if value:
        event.set()
    else:
        event.clear()
