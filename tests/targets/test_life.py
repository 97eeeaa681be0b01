"""The life of jobs through every method, blocking and awaited: the two clients do the same."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from howdah import AsyncClient, Client, Complete, Fail, InvalidTransition, JobNotClaimable, JobState, Lease

Call = Callable[..., Awaitable[Any]]


async def life(client: Any, call: Call) -> None:
    """`call(method, …)` awaits what has to be awaited."""
    first, second = await call(client.enqueue_many, [client.new("a", {"n": n}) for n in range(2)])
    held = await call(client.claim_job, first.id, worker="w", lease=30)
    with pytest.raises(JobNotClaimable) as refused:
        await call(client.claim_job, first.id, worker="v")
    assert (refused.value.worker, refused.value.state) == ("w", JobState.RUNNING)
    assert (await call(client.start, held.lease)).token == 1
    assert (await call(client.extend, held.lease, 60)).expires_at > held.lease.expires_at
    with pytest.raises(TimeoutError):
        await call(client.wait, first.id, 0.1)
    assert await call(client.snooze, held.lease, 0) is JobState.SCHEDULED
    assert (await call(client.sweep))["promoted"] == 1
    again = await call(client.claim, ["default"], limit=5, worker="w")
    assert sorted(job.id for job in again) == [first.id, second.id]
    stale = Lease(first.id, 1, "w", held.lease.expires_at)
    lost = await call(client.settle_many, [(job.lease, Complete(1)) for job in again] + [(stale, Fail("x"))])
    assert [(error.lease, error.reason) for error in lost] == [(stale, "finished")]
    assert (await call(client.wait, first.id, 5)).result == 1
    assert (await call(client.requeue, first.id)).state is JobState.AVAILABLE
    assert (await call(client.cancel, first.id)).state is JobState.CANCELLED
    await call(client.pause, "default")
    third = await call(client.enqueue, "a", {}, max_attempts=1)
    assert await call(client.claim, worker="w") == []
    await call(client.resume, "default")
    (job,) = await call(client.claim, worker="w")
    assert await call(client.release, job.lease, "not now") is JobState.AVAILABLE
    assert [error.event for error in (await call(client.get, third.id)).errors] == ["released"]
    (job,) = await call(client.claim, worker="w", lease=0.001)
    while (await call(client.reap)).retried == 0:
        await asyncio.sleep(0.002)  # until its lease of a millisecond is over
    (job,) = await call(client.claim, worker="w")
    assert await call(client.fail, job.lease, "no", retry_in=5) is JobState.DISCARDED
    with pytest.raises(InvalidTransition):
        await call(client.resolve, third.id, "completed", "but it is not unknown")


def test_the_blocking_client(dsn: str) -> None:
    async def call(method: Any, *args: Any, **kwargs: Any) -> Any:
        return method(*args, **kwargs)

    with Client(dsn) as client:
        asyncio.run(life(client, call))


def test_the_awaited_client(dsn: str) -> None:
    async def call(method: Any, *args: Any, **kwargs: Any) -> Any:
        given = method(*args, **kwargs)
        return await given if inspect.isawaitable(given) else given

    async def test() -> None:
        async with AsyncClient(dsn) as client:
            await life(client, call)

    asyncio.run(test())


def test_an_unknown_job_is_resolved_by_either(dsn: str) -> None:
    from howdah import Worker, job

    @job(on_crash="unknown")
    def once() -> None: ...

    async def test() -> None:
        async with AsyncClient(dsn) as awaited:
            for state in ("completed", "discarded", "available"):
                made = await awaited.enqueue("once", {})
                (held,) = await awaited.claim(worker="w", lease=0.2)
                await awaited.start(held.lease)
                while (await awaited.reap()).unknown == 0:
                    await asyncio.sleep(0.02)
                assert (await awaited.resolve(made.id, state, "looked")).state == state

    Worker(dsn, [once]).drain()  # makes the kind known
    asyncio.run(test())
