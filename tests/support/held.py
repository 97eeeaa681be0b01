"""Tools to hold a race on purpose: one side waits on a lock, or at a barrier, till the test lets it go.

    with held(connect) as holder:
        holder.execute("SELECT 1 FROM howdah.jobs WHERE id = %s FOR UPDATE", [job_id])
        waiting = background(lambda: run(other, complete(lease)))
        wait_until_blocked(conn, other.info.backend_pid)
    waiting.result()        # `held` has committed: the lock is free

Nothing here sleeps for a guessed time: each wait ends with its condition, or fails at its deadline.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Generic, TypeAlias, TypeVar

from psycopg import Connection
from psycopg.rows import tuple_row

T = TypeVar("T")
Connect: TypeAlias = Callable[..., Connection[Any]]

_TIMEOUT = 10.0
_POLL = 0.005


class Background(Generic[T]):
    """A call that runs in a thread of its own."""

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._future: Future[T] = Future()
        # A test that fails must not keep pytest from ending.
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def done(self) -> bool:
        """Whether it has returned or raised."""
        return self._future.done()

    def result(self, timeout: float = _TIMEOUT) -> T:
        """Wait for what it returns; raise what it raises, or TimeoutError."""
        return self._future.result(timeout)

    def error(self, timeout: float = _TIMEOUT) -> BaseException | None:
        """Wait for what it raises; None if it returns."""
        return self._future.exception(timeout)

    def _run(self) -> None:
        try:
            self._future.set_result(self._call())
        except BaseException as error:
            self._future.set_exception(error)


def background(call: Callable[[], T]) -> Background[T]:
    """Start the call in a thread."""
    return Background(call)


def together(*calls: Callable[[], T], timeout: float = _TIMEOUT) -> list[T | BaseException]:
    """Start the calls at the same moment; return what each returned or raised, in their order."""
    barrier = threading.Barrier(len(calls))

    def from_the_barrier(call: Callable[[], T]) -> Callable[[], T]:
        def start() -> T:
            barrier.wait(_TIMEOUT)
            return call()

        return start

    started = [background(from_the_barrier(call)) for call in calls]
    return [call.error(timeout) or call.result(timeout) for call in started]


@contextmanager
def held(connect: Connect) -> Iterator[Connection[Any]]:
    """Yield a connection inside a transaction, which keeps its locks to the end of the block; then commit."""
    with connect() as holder, holder.transaction():
        yield holder


def wait_until(condition: Callable[[], T], timeout: float = _TIMEOUT, *, what: str = "the condition") -> T:
    """Wait until the condition returns something true, and return that."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout:g} s for {what}")
        time.sleep(_POLL)
    return value


def wait_until_blocked(observer: Connection[Any], pid: int, timeout: float = _TIMEOUT) -> None:
    """Wait until the backend with this pid waits for a lock. `observer` is a connection in autocommit mode."""
    query = "SELECT state, wait_event_type, wait_event, query FROM pg_stat_activity WHERE pid = %s"
    seen: Any = None

    def is_blocked() -> bool:
        nonlocal seen
        # Tuples, whatever the observer's row factory is.
        seen = observer.cursor(row_factory=tuple_row).execute(query, [pid]).fetchone()
        return seen is not None and seen[1] == "Lock"

    try:
        wait_until(is_blocked, timeout)
    except TimeoutError:
        raise TimeoutError(f"backend {pid} waits for no lock after {timeout:g} s: {seen}") from None
