"""The seams of a worker: what wraps every attempt, what is told of it, and what lives as long as the worker."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from howdah.model.job import ClaimedJob

CallNext: TypeAlias = Callable[[ClaimedJob], Coroutine[Any, Any, Any]]


class Middleware(Protocol):
    """Wraps every attempt, between its start step and its handler; it is always async, also around sync handlers.

    What it returns or raises is the attempt's outcome, so its exceptions fail the attempt. It may give `call_next` a
    job with other args or headers.
    """

    async def __call__(self, job: ClaimedJob, call_next: CallNext, /) -> Any: ...


class Observer(Protocol):
    """Is told what happens, as one of `howdah.events`; its errors are logged and never raised."""

    def __call__(self, event: Any, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Seams:
    """What the user plugs in: see the protocols. `lifespan` is entered before the first claim."""

    middleware: Sequence[Middleware] = ()
    observers: Sequence[Observer] = ()
    lifespan: Callable[[], AbstractAsyncContextManager[None]] | None = None


NO_SEAMS = Seams()


def chain(middleware: Sequence[Middleware], innermost: CallNext) -> CallNext:
    """Every middleware around the innermost call, the first one outermost."""
    for one in reversed(middleware):
        innermost = _around(one, innermost)
    return innermost


def _around(middleware: Middleware, call_next: CallNext) -> CallNext:
    async def call(job: ClaimedJob, /) -> Any:
        return await middleware(job, call_next)

    return call
