"""The sources that `ctx.transaction()` takes, and one handler for all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, sessionmaker
from sqlalchemy.pool import NullPool

from howdah import Context, Retry, job
from howdah.client.kind import AnyKind
from howdah.store.dsn import sqlalchemy_url

NAMES = ("sessionmaker", "Engine", "async_sessionmaker", "AsyncEngine")

TABLES = """
    CREATE TABLE public.orders (n integer PRIMARY KEY);
    CREATE TABLE public.later (n integer REFERENCES public.orders DEFERRABLE INITIALLY DEFERRED);
"""

Body = Callable[[Context, Any], Any]


class Base(DeclarativeBase): ...


class Order(Base):
    __tablename__ = "orders"
    __table_args__ = {"schema": "public"}

    n: Mapped[int] = mapped_column(primary_key=True)


class ShopSession(Session):
    """A session of an application's own."""

    def order(self, n: int) -> None:
        self.add(Order(n=n))


@dataclass(frozen=True)
class Door:
    """A source, and how its handler is written."""

    name: str
    engine: Any
    source: Any

    @property
    def is_async(self) -> bool:
        return isinstance(self.engine, AsyncEngine)

    @property
    def has_session(self) -> bool:
        return self.source is not self.engine

    @property
    def sync_engine(self) -> sa.Engine:
        return self.engine.sync_engine if self.is_async else self.engine  # type: ignore[no-any-return]

    def kind(self, body: Body, after: Body = lambda ctx, inside: None, **options: Any) -> AnyKind:
        """A kind whose handler runs `body(ctx, inside)` in the block and returns what `after(ctx, inside)` gives.

        `inside` is the blocking session or connection also where the handler is async.
        """
        source = self.source
        options = {"kind": "work", "retry": Retry(max_attempts=3)} | options

        if self.is_async:

            @job(**options)
            async def work(ctx: Context) -> Any:
                async with ctx.transaction(source) as entered:
                    await entered.run_sync(lambda inside: body(ctx, inside))
                return await entered.run_sync(lambda inside: after(ctx, inside))
        else:

            @job(**options)
            def work(ctx: Context) -> Any:
                with ctx.transaction(source) as inside:
                    body(ctx, inside)
                return after(ctx, inside)

        return work


def door(name: str, dsn: str, *, engine: dict[str, Any] | None = None, **maker: Any) -> Door:
    """A door by the name of its class; `engine` and `maker` are options of these."""
    url, options = sqlalchemy_url(dsn), engine or {}
    if name.startswith(("async", "Async")):
        awaited = create_async_engine(url, **{"poolclass": NullPool, **options})
        return Door(name, awaited, async_sessionmaker(awaited, **maker) if name == NAMES[2] else awaited)
    blocking = sa.create_engine(url, **options)
    return Door(name, blocking, sessionmaker(blocking, **maker) if name == NAMES[0] else blocking)


def insert(n: int, table: str = "orders") -> Body:
    """Writes a row, by SQL."""

    def body(_: Context, inside: Any) -> None:
        inside.execute(sa.text(f"INSERT INTO public.{table} VALUES ({n})"))

    return body


def add(n: int) -> Body:
    """Writes a row, by the session's unit of work."""

    def body(_: Context, inside: Any) -> None:
        inside.add(Order(n=n))

    return body


def both(*bodies: Body) -> Body:
    """One after the other."""

    def body(ctx: Context, inside: Any) -> None:
        for one in bodies:
            one(ctx, inside)

    return body
