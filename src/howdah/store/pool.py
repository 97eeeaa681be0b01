"""Pools of our own connections: opened when needed, never more than their size, closed when idle for some seconds.

They have no thread and no task of their own: a connection is made by whoever needs it, who learns at once why it
cannot be had, and tries again at his own pace.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Generic, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from howdah.model.source_errors import NothingSent
from howdah.store.own_connection import OwnAsyncConnection, OwnConnection, is_usable
from howdah.store.trouble import is_lost

C = TypeVar("C", OwnConnection, OwnAsyncConnection)

WAIT = 10.0  # seconds for a connection while all are in use
IDLE = 10.0  # seconds


class _Idle(Generic[C]):
    """Connections at rest, the last one used first, so that the others may go."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._resting: deque[tuple[C, float]] = deque()
        self._closed = False

    def take(self) -> C | None:
        with self._lock:
            while self._resting:
                connection, _ = self._resting.pop()
                if is_usable(connection):
                    return connection
                connection.pgconn.finish()
        return None

    def put(self, connection: C) -> None:
        """Keep it, unless something is open on it, which nobody would end; the others go with one that has broken."""
        if self._closed or connection.pgconn.transaction_status != TransactionStatus.IDLE:
            broken = connection.closed
            connection.pgconn.finish()
            if broken:
                self.shrink(0)
            return
        with self._lock:
            self._resting.append((connection, time.monotonic()))
        self.shrink(IDLE)

    def shrink(self, idle: float) -> None:
        with self._lock:
            while self._resting and time.monotonic() - self._resting[0][1] >= idle:
                connection, _ = self._resting.popleft()
                connection.pgconn.finish()

    def close(self) -> None:
        self._closed = True
        self.shrink(0)


class Pool:
    """Of blocking connections; safe to share between threads."""

    def __init__(self, connect: Callable[[], OwnConnection], size: int) -> None:
        self._connect = connect
        self._size = size
        self._permits = threading.Semaphore(size)
        self._idle: _Idle[OwnConnection] = _Idle()

    @contextmanager
    def connection(self) -> Iterator[OwnConnection]:
        """A connection, which goes back afterwards.

        Raises NothingSent where none can be had, at the latest after WAIT, and what else connecting raises.
        """
        if not self._permits.acquire(timeout=WAIT):
            raise NothingSent(_all_in_use(self._size))
        try:
            with _nothing_sent():
                connection = self._idle.take() or self._connect()
            try:
                yield connection
            finally:
                self._idle.put(connection)
        finally:
            self._permits.release()

    def shrink(self) -> None:
        """Close what has been idle for long; so does every return of a connection."""
        self._idle.shrink(IDLE)

    def close(self) -> None:
        """Close what is idle now, and the others when they come back."""
        self._idle.close()


class AsyncPool:
    """As `Pool`, awaited; bound to the event loop of its first use."""

    def __init__(self, connect: Callable[[], Awaitable[OwnAsyncConnection]], size: int) -> None:
        self._connect = connect
        self._size = size
        self._permits = asyncio.Semaphore(size)
        self._idle: _Idle[OwnAsyncConnection] = _Idle()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[OwnAsyncConnection]:
        """As `Pool.connection`."""
        try:
            async with asyncio.timeout(WAIT):
                await self._permits.acquire()
        except TimeoutError:
            raise NothingSent(_all_in_use(self._size)) from None
        try:
            with _nothing_sent():
                connection = self._idle.take() or await self._connect()
            try:
                yield connection
            finally:
                self._idle.put(connection)
        finally:
            self._permits.release()

    def close(self) -> None:
        """As `Pool.close`."""
        self._idle.close()


def _all_in_use(size: int) -> str:
    return f"all {size} connections have been in use for {WAIT:g} s; do less at once, or keep transactions short"


@contextmanager
def _nothing_sent() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        if not is_lost(error):
            raise
        raise NothingSent(f"cannot reach PostgreSQL: {error}") from error
