"""The same on async targets: the answer is awaited."""

from typing import assert_type

import psycopg
from psycopg_pool import AsyncConnectionPool
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_sessionmaker, create_async_engine

from howdah import AsyncClient, Enqueued, job


@job
def resize(path: str, width: int = 640) -> None: ...


engine = create_async_engine("postgresql+psycopg://")
new_session = async_sessionmaker(engine)


async def with_sqlalchemy(scoped: async_scoped_session[AsyncSession]) -> None:
    async with AsyncSession(engine) as session, session.begin():
        assert_type(await resize.enqueue(session, "a.png", width=3), Enqueued)
    async with new_session.begin() as session:
        assert_type(await resize.enqueue_many(session, [{"path": "a"}, resize.new("b")]), list[Enqueued])
    assert_type(await resize.enqueue(scoped, "a.png"), Enqueued)
    async with engine.begin() as connection:
        assert_type(await resize.enqueue(connection, path="a.png"), Enqueued)


async def with_psycopg() -> None:
    async with await psycopg.AsyncConnection.connect() as connection:
        assert_type(await resize.options(subject="a").enqueue(connection, "a.png"), Enqueued)


async def with_a_client() -> None:
    async with AsyncClient() as client:
        assert_type((await resize.enqueue(client, "a.png")).id, int)
        assert_type(await client.enqueue("resize", {"path": "a.png"}, delay=5), Enqueued)
        assert_type(await resize.enqueue_many(client, []), list[Enqueued])
    pooled = AsyncClient(AsyncConnectionPool(open=False))
    await pooled.aclose()
    await AsyncClient(engine).migrate()
