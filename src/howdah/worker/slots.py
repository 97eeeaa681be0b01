"""The slots of one queue, and the small buffer of claimed jobs before them."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence

from howdah.worker.attempt import Attempt

MAX_PREFETCH = 100
# Only jobs that would begin within this many seconds are worth keeping: longer, and an idle worker should have them.
AHEAD = 0.1
NEWEST_WEIGHS = 0.2
# Who has waited this long was claimed on a wrong guess, and an idle worker may want it.
LONGEST_WAIT = 0.3


class QueueSlots:
    """Room for `slots` running attempts of a queue, and for a few that wait.

    `more`: the last claim filled its quota, so the queue probably has more.
    """

    def __init__(self, slots: int, prefetch: int) -> None:
        self.slots = slots
        self.running = 0
        self.more = True
        self._prefetch = min(prefetch, slots, MAX_PREFETCH)
        self._seconds = math.inf  # that an attempt takes, a moving average; nothing is prefetched until it is known
        self._buffer: deque[Attempt] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether something runs here or waits for a slot."""
        return bool(self.running or self._buffer)

    def room(self) -> int:
        """How many jobs to claim: none before half of the buffer is empty, since one by one costs a round trip each."""
        ahead = min(self._prefetch, int(self.slots * AHEAD / self._seconds))
        waiting = len(self._buffer) + self.running - self.slots  # negative: so many slots have nothing to do
        return max(0, ahead - waiting) if waiting * 2 <= ahead else 0

    def put(self, attempts: Sequence[Attempt]) -> None:
        """Buffer claimed jobs for the next free slots."""
        self._buffer.extend(attempts)
        for _ in range(min(len(attempts), len(self._waiting))):
            _wake(self._waiting.popleft())

    async def take(self) -> Attempt | None:
        """The next job, as soon as there is one; None after `close`. Give the slot back with `free`."""
        while not self._closed:
            if self._buffer:
                self.running += 1
                return self._buffer.popleft()
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        return None

    def free(self, seconds: float) -> None:
        """An attempt is over that took so long."""
        self.running -= 1
        known = math.isfinite(self._seconds)
        self._seconds = self._seconds + NEWEST_WEIGHS * (seconds - self._seconds) if known else seconds
        self._seconds = max(self._seconds, 1e-6)

    def overdue(self, now: float) -> list[Attempt]:
        """The buffered jobs that should have begun by now, taken out. Less is prefetched after such a guess."""
        late = [attempt for attempt in self._buffer if attempt.claimed_at <= now - LONGEST_WAIT]
        if late:
            self._seconds = max(self._seconds, 2 * self.slots * AHEAD)
            for attempt in late:
                self._buffer.remove(attempt)
        return late

    def drop(self, attempt: Attempt) -> bool:
        """Take a job out of the buffer; whether it was there."""
        if attempt not in self._buffer:
            return False
        self._buffer.remove(attempt)
        return True

    def close(self) -> list[Attempt]:
        """Hand out no more; gives the jobs that have not begun."""
        self._closed = True
        rest = list(self._buffer)
        self._buffer.clear()
        while self._waiting:
            _wake(self._waiting.popleft())
        return rest


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
