"""As `connections`, awaited; bound to the event loop of its first use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import psycopg
from psycopg_pool import AsyncConnectionPool

from howdah.store import dsn
from howdah.store.connections import POOL_SIZE, check_schema, is_sqlalchemy, speaking_psycopg, watching
from howdah.store.contact import Contact
from howdah.store.drivers import AsyncExecute, making_days_async, on_async_psycopg, run_async, run_procedure_async
from howdah.store.operation import Operation, Procedure, Query, Rows, Selection
from howdah.store.own_connection import READ_COMMITTED, connect_async
from howdah.store.pool import AsyncPool
from howdah.store.trouble import is_read_only, own_errors

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncEngine

T = TypeVar("T")
AsyncSource: TypeAlias = "str | AsyncConnectionPool[Any] | AsyncEngine | None"


class AsyncConnections:
    """Runs operations, each on a connection of its own. Opens at the first use, and belongs to that event loop."""

    def __init__(
        self,
        source: AsyncSource,
        *,
        size: int = POOL_SIZE,
        contact: Contact | None = None,
        patience: float | None = None,
    ) -> None:
        self._conninfo = dsn.resolve(source) if source is None or isinstance(source, str) else None
        self._theirs: AsyncConnectionPool[Any] | None = source if isinstance(source, AsyncConnectionPool) else None
        self._engine: AsyncEngine | None = (
            cast("AsyncEngine", source) if is_sqlalchemy(source, "ext.asyncio.engine.AsyncEngine") else None
        )
        if self._conninfo is None and self._theirs is None and self._engine is None:
            raise TypeError(
                f"{type(source).__name__} is no source of connections here: give a DSN, a "
                "psycopg_pool.AsyncConnectionPool or a SQLAlchemy AsyncEngine; Client takes their blocking twins"
            )
        if self._engine is not None:
            speaking_psycopg(self._engine)
        self._size = size
        self._contact = contact
        self._patience = patience
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ours: AsyncPool | None = None
        self._checked = False

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation whose every statement may be committed by itself."""
        with own_errors(), watching(self._contact):
            async with self.borrow() as connection:
                execute = on_async_psycopg(connection)
                if getattr(connection, "names_level", True):
                    execute = _naming_the_level(connection)
                return await run_async(making_days_async(execute), operation)

    async def transact(self, operation: Operation[T]) -> T:
        """Run an operation in one transaction at READ COMMITTED."""
        with own_errors(), watching(self._contact):
            async with self.borrow() as connection, read_committed(connection):
                return await run_async(on_async_psycopg(connection), operation)

    async def run_procedure(self, procedure: Procedure[T]) -> T:
        """Run a procedure, each of its operations in a transaction."""
        return await run_procedure_async(self.transact, procedure)

    @asynccontextmanager
    async def borrow(self, *, check: bool = True) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        """A connection outside of a transaction. Raises SchemaMismatch, once it has looked."""
        loop = asyncio.get_running_loop()
        self._loop = self._loop or loop
        if self._loop is not loop:
            raise RuntimeError("this client belongs to another event loop, that of its first use: make one per loop")
        if self._engine is not None:
            async with self._engine.connect() as borrowed:
                raw = (await borrowed.get_raw_connection()).driver_connection
                assert isinstance(raw, psycopg.AsyncConnection)
                await self._check(raw, check)
                yield raw
            return
        lent = self._theirs.connection() if self._theirs is not None else self._own_pool().connection()
        async with lent as connection:
            try:
                await self._check(connection, check)
                yield connection
            except psycopg.Error as error:
                if is_read_only(error):
                    await connection.close()  # a node that was demoted: another connection may find the primary
                raise

    async def close(self) -> None:
        """Close what we opened; a pool or engine of the user's stays open."""
        pool, self._ours = self._ours, None
        if pool is not None:
            pool.close()

    def _own_pool(self) -> AsyncPool:
        if self._ours is None:
            assert self._conninfo is not None
            make = partial(connect_async, self._conninfo, contact=self._contact, patience=self._patience)
            self._ours = AsyncPool(make, self._size)
        return self._ours

    async def _check(self, connection: psycopg.AsyncConnection[Any], check: bool) -> None:
        if check and not self._checked:
            async with read_committed(connection):
                await run_async(on_async_psycopg(connection), check_schema())
            self._checked = True


@asynccontextmanager
async def read_committed(connection: psycopg.AsyncConnection[Any]) -> AsyncIterator[None]:
    """A transaction that names its level, and leaves the connection's own setting as it was."""
    level = connection.isolation_level
    if level is not READ_COMMITTED:
        await connection.set_isolation_level(READ_COMMITTED)
    try:
        async with connection.transaction():
            yield
    finally:
        if level is not READ_COMMITTED and not connection.closed:
            await connection.set_isolation_level(level)


def _naming_the_level(connection: psycopg.AsyncConnection[Any]) -> AsyncExecute:
    once = on_async_psycopg(connection)

    async def execute(query: Query | Selection) -> Rows:
        async with read_committed(connection):
            return await once(query)

    return execute
