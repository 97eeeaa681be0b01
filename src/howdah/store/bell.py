"""The bell: idle workers arm it, an enqueue that finds it armed notifies. A hint; polling alone is correct.

The rule, with the experiments that forced it: one sequence, read by enqueues and set by idle workers only, so that it
holds no lock to anybody's commit. Woken, a worker stills the bell and arms it again 100 ms later at the earliest.
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Collection
from contextlib import suppress

import psycopg

from howdah.store.async_connections import AsyncConnections
from howdah.store.contact import Contact
from howdah.store.operation import Operation, Query
from howdah.store.own_connection import PATIENCE, connect_async

log = logging.getLogger("howdah.bell")

CHANNEL = "howdah"
REST = 0.1  # seconds between a wake-up and the next arming
LOOKS = (0.01, 0.03, 0.06, 0.1)  # seconds after a wake-up at which to look meanwhile
FIRST_PAUSE, LAST_PAUSE = 0.2, 5.0
PROBE = 3.0  # seconds between two questions to an idle connection, which may be dead without a sign
HEARS = 5.0  # seconds within which it hears itself, or never
DEAF_PAUSE = 300.0


class Bell:
    """Wakes one worker. `queues` are those whose wake-ups it hears."""

    def __init__(
        self, conninfo: str, connections: AsyncConnections, queues: Collection[str], *, contact: Contact | None = None
    ) -> None:
        self._conninfo = conninfo
        self._contact = contact
        self._connections = connections
        self._queues = frozenset(queues)
        self._rung = asyncio.Event()
        self._listening = False
        self._said_deaf = False
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
            deaf = False
            try:
                await self._listen()
            except _Deaf:
                deaf = True
                self._say_that_it_is_deaf()
            except (psycopg.Error, OSError) as error:
                log.debug("not listening, polling instead: %s", error)
            if self._listening:
                pause = FIRST_PAUSE
            self._listening = False
            self._rung.set()  # what was notified meanwhile is lost: look
            await asyncio.sleep(DEAF_PAUSE if deaf else pause * random.uniform(0.5, 1.5))  # noqa: S311
            pause = min(pause * 2, LAST_PAUSE)

    async def _listen(self) -> None:
        """Listen until the connection breaks or is silent. It counts as listening once it has heard itself."""
        echo = f"{CHANNEL}_{secrets.token_hex(4)}"
        connection = await connect_async(self._conninfo, contact=self._contact, patience=PATIENCE)
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}; LISTEN {echo}".encode())
            await self._connections.run(_echo(echo))  # from another connection: a backend hears itself in any case
            deaf_from = time.monotonic() + HEARS
            while True:
                async for notification in connection.notifies(timeout=PROBE):
                    if notification.channel == echo:
                        self._listening = True
                    if notification.channel == echo or notification.payload in self._queues:
                        self._rung.set()  # who waits has not armed the bell, since nobody would have heard it
                if not self._listening and time.monotonic() > deaf_from:
                    raise _Deaf
                await connection.execute(f"LISTEN {CHANNEL}".encode())  # changes nothing, but must be answered

    def _say_that_it_is_deaf(self) -> None:
        if not self._said_deaf:
            self._said_deaf = True
            log.warning(
                "no notification arrives, so this worker polls: a pooler in transaction mode is in between. "
                "Give the worker a DSN that leads to PostgreSQL itself: --listen-dsn, or HOWDAH_LISTEN_DSN"
            )


class _Deaf(Exception):
    """Its own notification has not come back."""


def _arm() -> Operation[None]:
    yield Query("bell/arm")


def _echo(channel: str) -> Operation[None]:
    yield Query("bell/echo", {"channel": channel})


def _set(value: int) -> Operation[None]:
    yield Query("bell/set", {"value": value})
