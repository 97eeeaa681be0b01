"""The two seams of a worker, called from a later release on: until then giving one raises InvalidOption."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from howdah.model.job import ClaimedJob


class Middleware(Protocol):
    """Wraps every attempt; its exceptions fail the attempt. Composed in the order given, the first outermost."""

    async def __call__(
        self, job: ClaimedJob, call_next: Callable[[ClaimedJob], Coroutine[Any, Any, Any]], /
    ) -> Any: ...


class Observer(Protocol):
    """Is told what happens; its errors are logged and never raised."""

    def __call__(self, event: Any, /) -> None: ...
