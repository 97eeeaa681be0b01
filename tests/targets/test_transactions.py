"""Whatever `on` is: its transaction stays its owner's. One body for blocking and async targets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from psycopg.pq import TransactionStatus

from howdah import AsyncClient, Client, JobState, LeaseLost, job
from tests.targets.every_target import (
    AUTOCOMMITTED,
    TARGETS,
    Target,
    begin,
    done,
    execute,
    in_a_savepoint_rolled_back,
    state,
)

Count = Callable[[], int]


@job(kind="a")
def a(n: int) -> None: ...


ENQUEUES: dict[str, Callable[[Any, Any], Any]] = {
    "Kind.enqueue": lambda client, on: a.enqueue(on, n=1),
    "Kind.enqueue with a key": lambda client, on: a.options(key="k", subject="s").enqueue(on, n=1),
    "Kind.enqueue_many": lambda client, on: a.enqueue_many(on, [{"n": 1}, a.options(delay=5).new(n=2)]),
    "Client.enqueue": lambda client, on: client.enqueue("a", {"n": 1}, on=on),
    "Client.enqueue with a key": lambda client, on: client.enqueue("a", {"n": 1}, key="l", on=on),
    "Client.enqueue_many": lambda client, on: client.enqueue_many([a.new(n=1), a.options(key="m").new(n=2)], on=on),
    "Client.load": lambda client, on: client.load([a.new(n=1), a.new(n=2)], on=on),
}

every_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


@asynccontextmanager
async def _opened(target: Target, dsn: str) -> Any:
    async with target.open(dsn) as on:
        client: Any = AsyncClient(dsn) if target.is_async else Client(dsn)
        try:
            yield client, on
        finally:
            await done(client.aclose() if target.is_async else client.close())


@every_target
def test_a_rollback_leaves_nothing(target: Target, dsn: str, count: Count) -> None:
    async def test() -> None:
        async with _opened(target, dsn) as (client, on):
            for name, enqueue in ENQUEUES.items():
                await begin(on, target)
                await done(enqueue(client, on))
                assert count() == 0, name
                await done(on.rollback())
                assert count() == 0, name

    asyncio.run(test())


@every_target
def test_a_commit_leaves_it(target: Target, dsn: str, count: Count) -> None:
    async def test() -> None:
        async with _opened(target, dsn) as (client, on):
            for name, enqueue in ENQUEUES.items():
                before = count()
                await begin(on, target)
                await done(enqueue(client, on))
                assert count() == before, name
                await done(on.commit())
                assert count() > before, name

    asyncio.run(test())


@every_target
def test_a_savepoint_rolls_back_only_its_own(target: Target, dsn: str, states: Callable[[], list[str]]) -> None:
    async def test() -> None:
        async with _opened(target, dsn) as (client, on):
            await begin(on, target)
            await done(a.options(delay=60).enqueue(on, n=0))
            for enqueue in ENQUEUES.values():
                await in_a_savepoint_rolled_back(on, lambda enqueue=enqueue: enqueue(client, on))
            await done(on.commit())
            assert states() == ["scheduled"]

    asyncio.run(test())


@every_target
def test_a_duplicate_key_leaves_the_transaction_usable(target: Target, dsn: str, count: Count) -> None:
    async def test() -> None:
        async with _opened(target, dsn) as (client, on):
            there = await done(client.enqueue("a", {"n": 1}, key="k"))
            await begin(on, target)
            again = await done(a.options(key="k").enqueue(on, n=2))
            assert (again.id, again.created) == (there.id, False)
            mine = await done(a.options(key="mine").enqueue(on, n=3))
            many = await done(a.enqueue_many(on, [a.options(key=key).new(n=4) for key in ("mine", "new", "k", "new")]))
            assert [each.created for each in many] == [False, True, False, False]
            assert [many[0].id, many[2].id] == [mine.id, there.id]
            await execute(on, "SELECT 1")
            await done(on.commit())
            assert count() == 6  # three jobs and their keys

    asyncio.run(test())


@every_target
def test_the_connection_is_as_it_was(target: Target, dsn: str) -> None:
    async def test() -> None:
        async with _opened(target, dsn) as (client, on):
            await begin(on, target)
            for setting in ("search_path = ''", "synchronous_commit = off", "work_mem = '5MB'"):
                await execute(on, f"SET LOCAL {setting}")
            before = await state(on)
            assert before["status"] == TransactionStatus.INTRANS
            for name, enqueue in ENQUEUES.items():
                await done(enqueue(client, on))
                assert await state(on) == before, name
            await done(on.rollback())

    asyncio.run(test())


@every_target
def test_a_completion_is_part_of_the_transaction(target: Target, dsn: str, states: Callable[[], list[str]]) -> None:
    async def test() -> None:
        async with _opened(target, dsn) as (client, on):
            await done(client.enqueue("a", {"n": 1}))
            (claimed,) = await done(client.claim(worker="w"))
            await begin(on, target)
            await execute(on, "SELECT 1")
            before = await state(on)
            assert await done(client.complete(claimed.lease, {"ok": 1}, on=on)) is JobState.COMPLETED
            await done(a.options(delay=60).enqueue(on, n=2))
            assert states() == ["running"]
            assert await state(on) == before
            await done(on.rollback())
            assert states() == ["running"]
            await begin(on, target)
            await done(client.complete(claimed.lease, {"ok": 2}, on=on))
            await done(on.commit())
            assert (await done(client.get(claimed.id))).result == {"ok": 2}

    asyncio.run(test())


@every_target
def test_a_completion_that_lost_its_lease_leaves_the_transaction_usable(
    target: Target, dsn: str, states: Callable[[], list[str]]
) -> None:
    async def test() -> None:
        async with _opened(target, dsn) as (client, on):
            await done(client.enqueue("a", {"n": 1}))
            (claimed,) = await done(client.claim(worker="w"))
            await done(client.release(claimed.lease, "elsewhere"))
            await begin(on, target)
            with pytest.raises(LeaseLost):
                await done(client.complete(claimed.lease, on=on))
            await done(a.options(delay=60).enqueue(on, n=2))
            await done(on.commit())
            assert states() == ["available", "scheduled"]

    asyncio.run(test())


@pytest.mark.parametrize("target", AUTOCOMMITTED, ids=lambda target: target.name)
def test_on_autocommit_each_call_is_committed_and_begins_nothing(target: Target, dsn: str, count: Count) -> None:
    async def test() -> None:
        async with _opened(target, dsn) as (client, on):
            for name, enqueue in ENQUEUES.items():
                before = count()
                await done(enqueue(client, on))
                assert count() > before, name
                found = await state(on)
                assert (found["status"], found["autocommit"]) == (TransactionStatus.IDLE, True), name

    asyncio.run(test())
