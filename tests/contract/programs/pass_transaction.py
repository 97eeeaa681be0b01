"""Completion in the handler's own transaction: psycopg's, or a session or connection of SQLAlchemy's."""

from typing import Any, assert_type

import psycopg
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, sessionmaker

from howdah import Context, job


class ShopSession(Session):
    def charge(self) -> int:
        return 1


engine = sa.create_engine("postgresql+psycopg://")
new_session = sessionmaker(engine, class_=ShopSession)
async_engine = create_async_engine("postgresql+psycopg://")
new_async_session = async_sessionmaker(async_engine)


@job
async def send_receipt(order_id: int) -> None: ...


@job
def charge(ctx: Context, order_id: int) -> int:
    with ctx.transaction(new_session) as session:
        assert_type(session, ShopSession)
        send_receipt.enqueue(session, order_id)
        return session.charge()


@job
def with_psycopg(ctx: Context) -> None:
    with ctx.transaction() as connection:
        assert_type(connection, psycopg.Connection[tuple[Any, ...]])
        connection.execute("SELECT 1")


@job
def with_an_engine(ctx: Context) -> None:
    with ctx.transaction(engine) as connection:
        assert_type(connection, sa.Connection)


@job
async def async_with_everything(ctx: Context) -> None:
    async with ctx.transaction(new_async_session) as session:
        assert_type(session, AsyncSession)
        await send_receipt.enqueue(session, 1)
    async with ctx.transaction(async_engine) as connection:
        assert_type(connection, AsyncConnection)
    async with ctx.transaction() as raw:
        assert_type(raw, psycopg.AsyncConnection[tuple[Any, ...]])
        await send_receipt.enqueue(raw, 2)
