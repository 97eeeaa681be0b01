"""Every connection or session that `on` may be: opened as its users open it, and told apart in one place."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.rows import dict_row, tuple_row
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker
from sqlalchemy.pool import NullPool

from howdah.store.dsn import sqlalchemy_url


@dataclass(frozen=True)
class Target:
    """`open` gives the `on` of an enqueue. `autocommit`: it commits by itself unless BEGIN is said."""

    name: str
    open: Callable[[str], AbstractAsyncContextManager[Any]]
    is_async: bool = False
    autocommit: bool = False


async def done(value: Any) -> Any:
    """What a blocking call has given, or an awaited one gives."""
    return await value if inspect.isawaitable(value) else value


async def execute(on: Any, statement: str) -> Any:
    """Run a statement as the owner of the connection does; its rows, if any."""
    is_psycopg = isinstance(on, psycopg.Connection | psycopg.AsyncConnection)
    result = await done(on.execute(statement if is_psycopg else sa.text(statement)))
    return await done(result.fetchall()) if not is_psycopg and result.returns_rows else None


async def begin(on: Any, target: Target) -> None:
    """Begin a transaction, where the first statement does not."""
    if target.autocommit:
        await execute(on, "BEGIN")


async def in_a_savepoint_rolled_back(on: Any, work: Callable[[], Any]) -> None:
    """Do the work inside a savepoint of the owner's, and roll that back."""
    if hasattr(on, "begin_nested"):
        nested = await done(on.begin_nested())
        await done(work())
        await done(nested.rollback())
    elif isinstance(on, psycopg.AsyncConnection):
        async with on.transaction(force_rollback=True):
            await done(work())
    else:
        with on.transaction(force_rollback=True):
            await done(work())


async def state(on: Any) -> dict[str, Any]:
    """What its owner has chosen of a connection, and where its transaction stands."""
    raw = await driver(on)
    names = ("autocommit", "isolation_level", "read_only", "row_factory", "cursor_factory", "prepare_threshold")
    found = {name: getattr(raw, name, None) for name in names} | {"status": raw.info.transaction_status}
    if raw.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS:
        query = (
            "SELECT current_setting('search_path'), current_setting('synchronous_commit'), current_setting('work_mem')"
        )
        cursor_type = psycopg.AsyncCursor if isinstance(raw, psycopg.AsyncConnection) else psycopg.Cursor
        cursor = cursor_type(raw, row_factory=tuple_row)
        await done(cursor.execute(query))
        found["settings"] = await done(cursor.fetchone())
    return found


async def driver(on: Any) -> Any:
    """The psycopg connection below."""
    if isinstance(on, psycopg.Connection | psycopg.AsyncConnection):
        return on
    if isinstance(on, Session | scoped_session | AsyncSession | async_scoped_session):
        on = await done(on.connection())
    raw = on.connection if isinstance(on, sa.Connection) else await on.get_raw_connection()
    return raw.driver_connection


def _psycopg(**options: Any) -> Callable[[str], AbstractAsyncContextManager[Any]]:
    @asynccontextmanager
    async def opened(dsn: str) -> AsyncIterator[Any]:
        connection = psycopg.connect(dsn, **options)
        yield connection
        connection.close()

    return opened


def _async_psycopg(**options: Any) -> Callable[[str], AbstractAsyncContextManager[Any]]:
    @asynccontextmanager
    async def opened(dsn: str) -> AsyncIterator[Any]:
        connection = await psycopg.AsyncConnection.connect(dsn, **options)
        yield connection
        await connection.close()

    return opened


def _alchemy(make: Callable[[sa.Engine], Any], **options: Any) -> Callable[[str], AbstractAsyncContextManager[Any]]:
    @asynccontextmanager
    async def opened(dsn: str) -> AsyncIterator[Any]:
        on = make(sa.create_engine(sqlalchemy_url(dsn), poolclass=NullPool, **options))
        yield on
        (on.remove if isinstance(on, scoped_session) else on.close)()

    return opened


def _async_alchemy(make: Callable[[Any], Any], **options: Any) -> Callable[[str], AbstractAsyncContextManager[Any]]:
    @asynccontextmanager
    async def opened(dsn: str) -> AsyncIterator[Any]:
        on = await done(make(create_async_engine(sqlalchemy_url(dsn), poolclass=NullPool, **options)))
        yield on
        await (on.remove if isinstance(on, async_scoped_session) else on.close)()

    return opened


def _scoped(engine: Any) -> Any:
    return async_scoped_session(async_sessionmaker(engine), scopefunc=lambda: 1)


TARGETS = [
    Target("psycopg", _psycopg()),
    Target("psycopg, autocommit", _psycopg(autocommit=True), autocommit=True),
    Target("psycopg, dict rows", _psycopg(row_factory=dict_row)),
    Target("psycopg, client cursor", _psycopg(cursor_factory=psycopg.ClientCursor)),
    Target("psycopg, raw cursor", _psycopg(cursor_factory=psycopg.RawCursor)),
    Target("psycopg, never prepared", _psycopg(prepare_threshold=None)),
    Target("Connection", _alchemy(lambda engine: engine.connect())),
    Target(
        "Connection, client cursor",
        _alchemy(lambda e: e.connect(), connect_args={"cursor_factory": psycopg.ClientCursor}),
    ),
    Target("Session", _alchemy(Session)),
    Target("Session, older style", _alchemy(lambda engine: Session(bind=engine.connect()))),
    Target("scoped_session", _alchemy(lambda engine: scoped_session(sessionmaker(engine)))),
    Target("async psycopg", _async_psycopg(), is_async=True),
    Target("async psycopg, autocommit", _async_psycopg(autocommit=True), is_async=True, autocommit=True),
    Target("async psycopg, dict rows", _async_psycopg(row_factory=dict_row), is_async=True),
    Target("async psycopg, raw cursor", _async_psycopg(cursor_factory=psycopg.AsyncRawCursor), is_async=True),
    Target("AsyncConnection", _async_alchemy(lambda engine: engine.connect().start()), is_async=True),
    Target("AsyncSession", _async_alchemy(AsyncSession), is_async=True),
    Target("async_scoped_session", _async_alchemy(_scoped), is_async=True),
]

AUTOCOMMITTED = [
    *(target for target in TARGETS if target.autocommit),
    Target("Connection, AUTOCOMMIT", _alchemy(lambda engine: engine.connect(), isolation_level="AUTOCOMMIT")),
    Target("Session, AUTOCOMMIT", _alchemy(Session, isolation_level="AUTOCOMMIT")),
    Target(
        "AsyncConnection, AUTOCOMMIT",
        _async_alchemy(lambda engine: engine.connect().start(), isolation_level="AUTOCOMMIT"),
        is_async=True,
    ),
]
