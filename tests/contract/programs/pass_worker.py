"""A worker, as an application starts it."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, assert_type

from howdah import ClaimedJob, Drained, Worker, job


@job
async def greet(name: str) -> None: ...


@asynccontextmanager
async def lifespan() -> AsyncGenerator[None]:
    yield


async def timed(claimed: ClaimedJob, call_next: Callable[[ClaimedJob], Coroutine[Any, Any, Any]], /) -> Any:
    print(claimed.kind, claimed.attempt)
    return await call_next(claimed)


def observe(event: Any, /) -> None:
    print(event)


worker = Worker(
    "postgresql://localhost/shop",
    [greet, greet.options(priority=1), sys.modules[__name__]],
    queues={"default": 10, "mail": 5},
    lifespan=lifespan,
    middleware=[timed],
    observers=(observe, print),
    grace=5,
    poll=0.5,
    threads=4,
)


async def serve() -> None:
    running = asyncio.create_task(worker.run_async())
    assert_type(await worker.drain_async(limit=10), Drained)
    worker.stop()
    await running


if __name__ == "__main__":
    drained = Worker(kinds=[greet]).drain(timeout=30)
    assert_type(drained.completed + drained.failed + drained.discarded + drained.snoozed + drained.cancelled, int)
    worker.run()
