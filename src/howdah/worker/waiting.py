"""Waiting for what must not be left alone before its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def to_its_end(future: asyncio.Future[T], cancelled: Callable[[], None] = lambda: None) -> T:
    """The result of the future, which goes on when the caller is cancelled; the caller only ends after it.

    `cancelled` is called at each cancellation; the last one is raised in the end.
    """
    asked: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError as error:
            if not future.done():
                asked = error
                cancelled()
        except BaseException:
            break  # its own, which `result` raises
    if asked is not None:
        raise asked
    return future.result()
