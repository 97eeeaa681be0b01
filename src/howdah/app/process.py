"""A worker as the owner of its process: an event loop to the end, signals that are heard, an exit in time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")

# timeout(1) and many a supervisor signal a process and then its group: one wish, not two.
SAME_WISH = 0.5
LEFT_OVERS = 0.15  # seconds for tasks that do not end when they are cancelled
LAST_WORDS = 0.1  # seconds for a log that may hang
EXIT_AFTER = 1.85  # seconds beyond the grace period after which the process ends, whatever hangs
HEARD = (signal.SIGTERM, signal.SIGINT)

log = logging.getLogger("howdah.worker")


def run_to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, which would wait for ever for a handler that swallows its cancellation.

    A task that exits the interpreter, of a handler's own making, ends alone: what it was part of sees the exception.
    """
    if _loop_is_running():
        work.close()
        raise RuntimeError("an event loop is running here: await worker.run_async() or worker.drain_async() instead")
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    try:
        while True:
            try:
                return loop.run_until_complete(task)
            except (SystemExit, KeyboardInterrupt) as exit_:
                if task.done():
                    raise
                log.error("%r in a task of a handler does not end the worker", exit_)
            except RuntimeError as stopped:
                if task.done() or loop.is_closed():
                    raise
                log.error("a handler has stopped the event loop, which goes on: %s", stopped)
    finally:
        left = asyncio.all_tasks(loop)
        for other in left:
            other.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=LEFT_OVERS))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


class Signals:
    """SIGTERM and SIGINT stop a worker, a second one abandons what runs. For the main thread.

    They are heard in a thread: an event loop that a handler blocks would hear nothing. That thread also ends the
    process where something hangs for longer than a stop may take.
    """

    def __init__(self, grace: float, stop: Callable[[], None], abandon: Callable[[], None]) -> None:
        self._grace = grace
        self._stop = stop
        self._abandon = abandon
        self._stopped_at: float | None = None
        self._exit_at: float | None = None

    def __enter__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._wakeup_before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _only_wake) for number in HEARD}
        _heard_here.add(self)
        self._thread = threading.Thread(target=self._listen, name="howdah-signals", daemon=True)
        self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _heard_here.discard(self)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        self._writer.shutdown(socket.SHUT_RDWR)  # which ends the thread, although forked processes may have it too
        self._writer.close()
        self._thread.join()

    def heard_elsewhere(self, number: int) -> None:
        """Hear a signal although the wake-up descriptor is somebody else's, as asyncio's own signal handlers make it.

        For the main thread.
        """
        ours = self._writer.fileno()
        theirs = signal.set_wakeup_fd(ours, warn_on_full_buffer=False)
        if theirs != ours:
            with contextlib.suppress(OSError):
                self._writer.send(bytes([number]))
            if theirs != -1:
                signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)

    def silence(self) -> None:
        """Hear nothing, in a process that was forked from the one that listens."""
        self._reader.close()
        self._writer.close()

    def _listen(self) -> None:
        with self._reader:
            while True:
                self._reader.settimeout(None if self._exit_at is None else max(0.0, self._exit_at - time.monotonic()))
                try:
                    heard = self._reader.recv(64)
                except (TimeoutError, BlockingIOError):
                    leave_now("it hangs for longer than a stop may take")
                if not heard:
                    return
                for number in heard:
                    if number in HEARD:
                        self._signalled(signal.Signals(number))

    def _signalled(self, number: signal.Signals) -> None:
        now = time.monotonic()
        if self._stopped_at is None:
            self._stopped_at = now
            self._exit_at = now + self._grace + EXIT_AFTER
            self._stop()
            _say(logging.INFO, f"{number.name}: stopping, at most {self._grace:g} s; a second abandons what runs")
        elif now - self._stopped_at >= SAME_WISH:
            self._exit_at = min(self._exit_at or now, now + EXIT_AFTER)
            self._abandon()
            _say(logging.WARNING, f"{number.name} again: what runs is abandoned, its leases expire")


def leave_now(why: str, status: int = 1) -> None:
    """End the process without waiting for anybody: neither threads, nor atexit, nor a hanging event loop."""
    _say(logging.ERROR, f"the process ends at once: {why}").join(LAST_WORDS)
    os._exit(status)


def leave_within(seconds: float, status: int = 0) -> None:
    """See to it that the process has ended after so many seconds, whatever its threads and atexit functions do."""

    def wait() -> None:
        time.sleep(seconds)
        leave_now("threads or processes of handlers do not end", status)

    threading.Thread(target=wait, name="howdah-exit", daemon=True).start()


def _say(level: int, what: str) -> threading.Thread:
    """Log and flush, in a thread: a log that hangs, as a full pipe does, must not hold up the end."""

    def say() -> None:
        log.log(level, what)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()

    thread = threading.Thread(target=say, name="howdah-last-words", daemon=True)
    thread.start()
    return thread


def _only_wake(number: int, _frame: object) -> None:
    """The signal's number has been written for the thread that listens; unless somebody else has it written now."""
    for signals in _heard_here:
        signals.heard_elsewhere(number)


def _forget_signals() -> None:
    """A process that a handler forks must die of its signals, and not pass them on to the worker."""
    if _heard_here:
        signal.set_wakeup_fd(-1)
        for number in HEARD:
            signal.signal(number, signal.SIG_DFL)
        for signals in _heard_here:
            signals.silence()
        _heard_here.clear()


_heard_here: set[Signals] = set()
os.register_at_fork(after_in_child=_forget_signals)


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
