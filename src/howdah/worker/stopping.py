"""A stop: whether it was asked for, and how long each of its steps may take, whatever hangs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

# Beyond the grace period, in sum less than 2 seconds. `CLAIM_ENDS` counts from the request: a claim that is under way
# is waited for, since what it gives can be given back.
CLAIM_ENDS = 0.4
HANDLERS_END = 0.6
REPORTS_SENT = 1.0
KEEPER_ENDS = 0.1
TASKS_END = 0.1
LIFESPAN_ENDS = 0.2
SOURCE_CLOSES = 0.25


class Stop:
    """The stop of one worker. Belongs to the event loop."""

    def __init__(self, grace: float, clock: Callable[[], float]) -> None:
        self._grace = grace
        self._clock = clock
        self._asked_at: float | None = None
        self._abandoned = asyncio.Event()

    @property
    def asked(self) -> bool:
        """Whether the worker is stopping."""
        return self._asked_at is not None

    @property
    def abandoned(self) -> bool:
        """Whether nothing is to be waited for any more."""
        return self._abandoned.is_set()

    @property
    def over_at(self) -> float:
        """When the grace period ends."""
        return (self._asked_at or 0.0) + self._grace

    def left(self) -> float:
        """The seconds of it that are left."""
        if self._asked_at is None:
            return self._grace
        return 0.0 if self.abandoned else max(0.0, self.over_at - self._clock())

    def ask(self) -> None:
        """Stop; the grace period begins."""
        self._asked_at = self._clock()

    def abandon(self) -> None:
        """Wait for nothing any more."""
        self._abandoned.set()

    async def until(self, tasks: Sequence[asyncio.Future[Any]], moment: float) -> None:
        """Wait for all the tasks, but not over the moment nor after `abandon`."""
        if self.abandoned:
            return
        ended = asyncio.ensure_future(asyncio.wait(tasks))
        abandoned = asyncio.ensure_future(self._abandoned.wait())
        try:
            patience = max(0.0, moment - self._clock())
            await asyncio.wait({ended, abandoned}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            abandoned.cancel()
