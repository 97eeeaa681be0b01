"""What a client may be made of: a DSN in every form, or a pool or an engine that stays its owner's."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any
from urllib.parse import urlencode

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from sqlalchemy.ext.asyncio import create_async_engine

from howdah import AsyncClient, Client, InvalidOption, job
from howdah.store.dsn import sqlalchemy_url
from tests.support.held import together, wait_until
from tests.targets.every_target import done


@job(kind="a")
def a(n: int) -> None: ...


def _url(dsn: str, scheme: str) -> str:
    return f"{scheme}://?{urlencode(conninfo_to_dict(dsn))}"


FORMS: dict[str, Callable[[str], str]] = {
    "libpq text": lambda dsn: dsn,
    "postgresql://": lambda dsn: _url(dsn, "postgresql"),
    "postgres://": lambda dsn: _url(dsn, "postgres"),
    "postgresql+psycopg://": lambda dsn: _url(dsn, "postgresql+psycopg"),
}


@contextmanager
def _engine(dsn: str, **options: Any) -> Any:
    engine = sa.create_engine(sqlalchemy_url(dsn), **options)
    yield engine
    engine.dispose()


SOURCES: dict[str, Callable[[str], AbstractContextManager[Any]]] = {
    "ConnectionPool": lambda dsn: ConnectionPool(dsn, min_size=1, open=True),
    "ConnectionPool, autocommit, dict rows": lambda dsn: ConnectionPool(
        dsn, min_size=1, open=True, kwargs={"autocommit": True, "row_factory": dict_row}
    ),
    "ConnectionPool, serializable": lambda dsn: ConnectionPool(dsn, min_size=1, open=True, configure=_serializable),
    "Engine": _engine,
    "Engine, AUTOCOMMIT": lambda dsn: _engine(dsn, isolation_level="AUTOCOMMIT"),
    "Engine, SERIALIZABLE": lambda dsn: _engine(dsn, isolation_level="SERIALIZABLE"),
}


def _serializable(connection: psycopg.Connection) -> None:
    connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_a_client_works_on_a_dsn(form: Callable[[str], str], dsn: str) -> None:
    with Client(form(dsn)) as client:
        _live(client)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_a_client_works_on_a_pool_or_engine(source: Callable[[str], AbstractContextManager[Any]], dsn: str) -> None:
    with source(dsn) as opened, Client(opened) as client:
        client.migrate()
        _live(client)


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_a_pool_or_engine_of_the_users_stays_open_and_as_it_was(
    source: Callable[[str], AbstractContextManager[Any]], dsn: str
) -> None:
    with source(dsn) as opened:
        before = _settings(opened)
        client = Client(opened)
        client.enqueue("a", {"n": 1}, key="k")
        client.enqueue_many([a.new(n=2)])
        client.close()
        assert _settings(opened) == before


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_an_async_client_works_on_a_dsn(form: Callable[[str], str], dsn: str) -> None:
    async def test() -> None:
        async with AsyncClient(form(dsn)) as client:
            await _live_async(client)

    asyncio.run(test())


def test_an_async_client_works_on_a_pool_that_stays_open(dsn: str) -> None:
    async def test() -> None:
        async with AsyncConnectionPool(dsn, min_size=1, open=False) as pool:
            async with AsyncClient(pool) as client:
                await client.migrate()
                await _live_async(client)
            async with pool.connection() as connection:
                assert connection.isolation_level is None

    asyncio.run(test())


@pytest.mark.parametrize("level", ["READ COMMITTED", "AUTOCOMMIT", "SERIALIZABLE"])
def test_an_async_client_works_on_an_engine_that_stays_open(level: str, dsn: str) -> None:
    async def test() -> None:
        engine = create_async_engine(sqlalchemy_url(dsn), isolation_level=level)
        async with AsyncClient(engine) as client:
            await client.migrate()
            await _live_async(client)
        async with engine.connect() as connection:
            assert (await connection.execute(sa.text("SELECT 1"))).scalar() == 1
        await engine.dispose()

    asyncio.run(test())


def test_a_client_is_a_target_too(dsn: str) -> None:
    with Client(dsn) as client, Client(dsn) as other:
        assert a.enqueue(client, n=1).created
        assert [each.created for each in a.enqueue_many(client, [{"n": 2}, {"n": 3}])] == [True, True]
        assert client.enqueue("a", {"n": 4}, on=other).created
        assert client.load([a.new(n=5)], on=other) == 1
        claimed = client.claim(limit=9, worker="w")
        assert [each.args["n"] for each in claimed] == [1, 2, 3, 4, 5]
        assert client.complete(claimed[0].lease, on=other) == "completed"


def test_a_batch_on_a_client_is_all_or_nothing(dsn: str, conn: psycopg.Connection) -> None:
    with Client(dsn) as client:
        too_many = [a.new(n=n) for n in range(5_001)]
        object.__setattr__(too_many[-1], "kind", None)  # in the second chunk, past the checks at the door
        with pytest.raises(psycopg.errors.NotNullViolation):
            client.enqueue_many(too_many)
    assert conn.execute("SELECT count(*) FROM howdah.jobs").fetchone() == (0,)


def test_without_a_source_it_is_howdah_dsn(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOWDAH_DSN", dsn)
    with Client() as client:
        assert client.enqueue("a", {}).created
    monkeypatch.delenv("HOWDAH_DSN")
    for cls in (Client, AsyncClient):
        with pytest.raises(InvalidOption, match="HOWDAH_DSN"):
            cls()


def test_a_client_opens_at_its_first_use_and_again_after_close(dsn: str, conn: psycopg.Connection) -> None:
    client = Client(f"{dsn} application_name=lazy")
    assert _connected(conn) == 0
    client.enqueue("a", {})
    assert _connected(conn) == 1
    client.close()
    client.close()
    wait_until(lambda: _connected(conn) == 0, what="the end of its connections")
    with closing(client):
        client.enqueue("a", {})


def test_a_client_that_was_never_used_closes_quietly(dsn: str) -> None:
    Client(dsn).close()
    asyncio.run(AsyncClient(dsn).aclose())
    gc.collect()


def test_eight_threads_share_a_client(dsn: str, conn: psycopg.Connection) -> None:
    with Client(dsn) as client:

        def work(worker: str) -> int:
            for n in range(20):
                client.enqueue("a", {"n": n}, key=f"{worker}:{n}")
            claimed = client.claim(limit=20, worker=worker)
            return len([client.complete(each.lease) for each in claimed])

        finished = together(*[lambda w=f"w{n}": work(w) for n in range(8)])  # type: ignore[misc]
        assert all(isinstance(each, int) for each in finished), finished
    completed = conn.execute("SELECT count(*) FROM howdah.history WHERE state = 'completed'").fetchone()
    assert completed == (sum(each for each in finished if isinstance(each, int)),)
    assert conn.execute("SELECT count(*), count(DISTINCT id) FROM howdah.all_jobs").fetchone() == (160, 160)


def test_an_async_client_says_that_it_belongs_to_another_loop(dsn: str) -> None:
    client = AsyncClient(dsn)

    async def use() -> None:
        await client.enqueue("a", {})

    async def use_and_close() -> None:
        await client.enqueue("a", {})
        await client.aclose()

    asyncio.run(use_and_close())
    with pytest.raises(RuntimeError, match=r"belongs to another event loop.*make one per loop"):
        asyncio.run(use())


def _live(client: Any) -> None:
    """A job's life, through a client."""
    first = client.enqueue("a", {"n": 1}, key="k")
    assert not client.enqueue("a", {"n": 1}, key="k").created
    client.enqueue_many([a.new(n=2), a.new(n=3)])
    client.load([a.new(n=4)])
    claimed = client.claim(limit=9, worker="w")
    assert [each.args["n"] for each in claimed] == [1, 2, 3, 4]
    client.extend(client.start(claimed[0].lease), 90)
    assert client.complete(claimed[0].lease, {"ok": 1}) == "completed"
    assert client.fail(claimed[1].lease, "no") == "scheduled"
    assert client.get(first.id).result == {"ok": 1}
    assert client.requeue(first.id).state == "available"
    assert client.cancel(first.id).state == "cancelled"
    assert client.reap() == type(client.reap())()
    assert set(client.sweep()) >= {"retried", "promoted", "pruned"}


async def _live_async(client: AsyncClient) -> None:
    first = await client.enqueue("a", {"n": 1}, key="k")
    await client.enqueue_many([a.new(n=2), a.new(n=3)])
    await client.load([a.new(n=4)])
    claimed = await client.claim(limit=9, worker="w")
    assert [each.args["n"] for each in claimed] == [1, 2, 3, 4]
    await client.extend(await client.start(claimed[0].lease), 90)
    assert await client.complete(claimed[0].lease, {"ok": 1}) == "completed"
    assert await client.fail(claimed[1].lease, "no") == "scheduled"
    assert (await client.wait(first.id, 1)).result == {"ok": 1}
    assert (await client.requeue(first.id)).state == "available"
    assert (await client.cancel(first.id)).state == "cancelled"
    assert set(await client.sweep()) >= {"retried", "promoted", "pruned"}
    assert (await done(client.reap())).retried == 0


def _settings(source: ConnectionPool[Any] | sa.Engine) -> tuple[Any, ...]:
    if isinstance(source, ConnectionPool):
        with source.connection() as connection:
            return _of(connection)
    with source.connect() as borrowed:
        return _of(borrowed.connection.driver_connection)


def _of(connection: Any) -> tuple[Any, ...]:
    return (
        connection.autocommit,
        connection.isolation_level,
        connection.row_factory,
        connection.info.transaction_status,
    )


def _connected(conn: psycopg.Connection) -> int:
    row = conn.execute("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lazy'").fetchone()
    assert row is not None
    return int(row[0])
