"""Threads for sync handlers.

`concurrent.futures` joins its threads when the interpreter exits, so that one hung handler would keep the process
alive for ever; these are daemons.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Work: TypeAlias = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Threads:
    """At most `size` daemon threads, begun as they are needed. It belongs to one event loop.

    Hold `room` around `run`: whoever holds it has a thread, so that nothing waits between a start step and the
    handler's first instruction.
    """

    def __init__(self, size: int) -> None:
        self.room = asyncio.Semaphore(size)
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._busy = 0
        self._begun = 0

    async def run(self, function: Callable[[], T]) -> T:
        """What the function gives or raises, run in a thread with a copy of the caller's context variables."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        context = contextvars.copy_context()
        self._busy += 1
        if self._busy > self._begun:
            self._begun += 1
            threading.Thread(target=self._serve, name=f"howdah-handler-{self._begun}", daemon=True).start()
        self._work.put((lambda: context.run(function), loop, future))
        try:
            return await future
        finally:
            self._busy -= 1

    def close(self) -> None:
        """Let idle threads end. One whose handler hangs goes with the process."""
        for _ in range(self._begun):
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            function, loop, future = work
            result, error = None, None
            try:
                result = function()
            except BaseException as raised:
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for this any more
                loop.call_soon_threadsafe(_deliver, future, result, error)
            del work, function, future, result, error  # a thread at rest keeps nothing of its last job alive


def _deliver(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
