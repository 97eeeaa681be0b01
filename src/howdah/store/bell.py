"""The bell: idle workers arm it, an enqueue that finds it armed notifies. A hint; polling alone is correct.

The rule, with the experiments that forced it: one sequence, read by enqueues and set by idle workers only, so that it
holds no lock to anybody's commit. Woken, a worker stills the bell and arms it again 100 ms later at the earliest.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Collection
from contextlib import suppress

import psycopg

from howdah.store.async_connections import AsyncConnections
from howdah.store.operation import Operation, Query

log = logging.getLogger("howdah.bell")

CHANNEL = "howdah"
REST = 0.1  # seconds between a wake-up and the next arming
LOOKS = (0.01, 0.03, 0.06, 0.1)  # seconds after a wake-up at which to look meanwhile
FIRST_PAUSE, LAST_PAUSE = 0.2, 5.0


class Bell:
    """Wakes one worker. `queues` are those whose wake-ups it hears."""

    def __init__(self, conninfo: str, connections: AsyncConnections, queues: Collection[str]) -> None:
        self._conninfo = conninfo
        self._connections = connections
        self._queues = frozenset(queues)
        self._rung = asyncio.Event()
        self._listening = False
        self._woken_at = float("-inf")
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Start to listen, in the background."""
        self._task = asyncio.create_task(self._listen_forever(), name="howdah-listener")

    async def close(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def arm(self) -> None:
        """Ask for the next enqueue's notification; a worker that has just been woken waits a little with that."""
        self._rung.clear()
        if self._listening and time.monotonic() - self._woken_at >= REST:
            await self._connections.run(_arm())

    async def wait(self, timeout: float) -> None:
        """Return when woken, or after `timeout` seconds; sooner after a wake-up, since more is likely to come."""
        since = time.monotonic() - self._woken_at
        looks = [look - since for look in LOOKS if look > since]
        try:
            await asyncio.wait_for(self._rung.wait(), min([timeout, *looks[:1]]))
        except TimeoutError:
            return
        self._woken_at = time.monotonic()
        await self._connections.run(_set(0))

    async def _listen_forever(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                await self._listen()
            except psycopg.Error as error:
                log.info("not listening, polling instead: %s", error)
            if self._listening:
                pause = FIRST_PAUSE
            self._listening = False
            self._rung.set()  # what was notified meanwhile is lost: look
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311
            pause = min(pause * 2, LAST_PAUSE)

    async def _listen(self) -> None:
        async with await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True) as connection:
            await connection.execute(f"LISTEN {CHANNEL}".encode())
            self._listening = True
            self._rung.set()  # who waits has not armed the bell, since nobody would have heard it
            async for notification in connection.notifies():
                if notification.payload in self._queues:
                    self._rung.set()


def _arm() -> Operation[None]:
    yield Query("bell/arm")


def _set(value: int) -> Operation[None]:
    yield Query("bell/set", {"value": value})
