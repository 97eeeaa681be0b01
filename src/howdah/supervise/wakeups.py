"""Signals as something to read, so that one thread can wait for them, for its processes and for a time together."""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any, Self


class Wakeups:
    """Catches signals in a `with` block of the main thread.

    Those of `last` are ignored after it: a late one must not turn the exit status of a good end into a failure.
    """

    def __init__(self, numbers: Iterable[signal.Signals], last: Iterable[signal.Signals] = ()) -> None:
        self._last = tuple(last)
        self._numbers = (*self._last, *numbers)
        self._before: dict[signal.Signals, Any] = {}
        self._read, self._write = socket.socketpair()
        for end in (self._read, self._write):
            end.setblocking(False)

    def __enter__(self) -> Self:
        self._fd_before = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, _noted) for number in self._numbers}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_IGN if number in self._last else handler)
        signal.set_wakeup_fd(self._fd_before)
        self._read.close()
        self._write.close()

    def send(self, number: int) -> None:
        """Wake the waiting thread with a number, as a signal would. From any thread, at any time."""
        with contextlib.suppress(OSError):  # full: it is awake anyway; closed: nobody waits
            self._write.send(bytes([number]))

    def wait(self, others: Sequence[socket.socket], timeout: float | None) -> list[int]:
        """The numbers that came. Returns too when another socket has something to read, or at the timeout."""
        with selectors.DefaultSelector() as selector:
            for one in (self._read, *others):
                selector.register(one, selectors.EVENT_READ)
            selector.select(timeout)
        try:
            return list(self._read.recv(4096))
        except BlockingIOError:
            return []


def _noted(_number: int, _frame: FrameType | None) -> None:
    """The wake-up descriptor has it; a signal without a handler would have its default effect."""
