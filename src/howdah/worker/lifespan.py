"""The user's lifespan: entered before the first claim, left after the last handler, both in one task of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

log = logging.getLogger(__name__)

MakeLifespan: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]


class Lifespan:
    """One task enters and leaves, since cancel scopes and context variables belong to the task that made them."""

    def __init__(self, make: MakeLifespan | None) -> None:
        self._make = make
        self._entered = asyncio.Event()
        self._over = asyncio.Event()
        self._broken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def break_down(self) -> None:
        """Wait until it ends although it should not; for ever, if it does not."""
        await self._broken.wait()

    def complain(self) -> None:
        """Raise what ended it before its time, if something did."""
        if self._broken.is_set() and self._task is not None:
            self._task.result()
            raise RuntimeError("the lifespan ended by itself while the worker needed it")

    async def begin(self) -> None:
        """Enter. Raises what entering raises."""
        if self._make is None:
            return
        self._task = asyncio.create_task(self._live(self._make), name="howdah-lifespan")
        entered = asyncio.ensure_future(self._entered.wait())
        try:
            await asyncio.wait({self._task, entered}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            entered.cancel()
        if not self._entered.is_set():
            self._task.result()

    async def end(self, patience: float) -> None:
        """Leave, if it was entered; after `patience` seconds it is cancelled. Never raises."""
        task = self._task
        if task is None:
            return
        self._over.set()
        if not self._entered.is_set():
            task.cancel()
        await asyncio.wait({task}, timeout=patience)
        if not task.done():
            log.warning("the lifespan did not end in time")
            task.cancel()
        elif not self._broken.is_set() and not task.cancelled() and (error := task.exception()):
            log.error("the lifespan failed as it ended", exc_info=error)

    async def _live(self, make: MakeLifespan) -> None:
        try:
            async with make():
                self._entered.set()
                await self._over.wait()
        finally:
            if self._entered.is_set() and not self._over.is_set():
                self._broken.set()
