"""The only code that knows whether waiting blocks: it drives an operation on a connection that somebody else owns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import psycopg
from psycopg.rows import dict_row

from howdah.model.errors import Unreachable
from howdah.store.operation import Operation, Procedure, Query, Rows, Selection

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncConnection

WARNING = "01000"

T = TypeVar("T")
Execute: TypeAlias = Callable[[Query | Selection], Rows]
AsyncExecute: TypeAlias = Callable[[Query | Selection], Awaitable[Rows]]


def run(execute: Execute, operation: Operation[T]) -> T:
    """Drive an operation to its end, blocking."""
    try:
        query = next(operation)
        while True:
            query = operation.send(execute(query))
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


async def run_async(execute: AsyncExecute, operation: Operation[T]) -> T:
    """Drive an operation to its end, awaiting."""
    try:
        query = next(operation)
        while True:
            query = operation.send(await execute(query))
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


def run_procedure(transact: Callable[[Operation[Any]], Any], procedure: Procedure[T]) -> T:
    """Drive a procedure: each of its operations through `transact`, whose database errors are thrown back into it."""
    try:
        operation = next(procedure)
        while True:
            try:
                result = transact(operation)
            except psycopg.Error as error:
                operation = procedure.throw(error)
            else:
                operation = procedure.send(result)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


async def run_procedure_async(transact: Callable[[Operation[Any]], Awaitable[Any]], procedure: Procedure[T]) -> T:
    """As `run_procedure`, awaited."""
    try:
        operation = next(procedure)
        while True:
            try:
                result = await transact(operation)
            except psycopg.Error as error:
                operation = procedure.throw(error)
            else:
                operation = procedure.send(result)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]


def on_psycopg(connection: psycopg.Connection[Any]) -> Execute:
    """Executes on a psycopg connection, whatever its own row and cursor factories are, and its DateStyle.

    Results come in binary: psycopg reads moments as text in the style ISO only, and the style may be the role's.
    """

    def execute(query: Query | Selection) -> Rows:
        with psycopg.Cursor(connection, row_factory=dict_row) as cursor:
            cursor.format = psycopg.pq.Format.BINARY
            if query.copy is None:
                with confirming(connection, query.confirmed):
                    cursor.execute(query.text.encode(), query.params)
                return cursor.fetchall() if cursor.description else []
            with cursor.copy(query.text.encode()) as copy:
                for row in query.copy:
                    copy.write_row(row)
            return []

    return execute


@contextmanager
def confirming(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], wanted: bool) -> Iterator[None]:
    """Raises Unreachable where the server warns of a commit: one that was only made locally is not acknowledged.

    A cancelled wait for a synchronous standby is answered as a success, with a warning (PostgreSQL, "Synchronous
    Replication").
    """
    if not wanted:
        yield
        return
    warnings: list[str] = []

    def note(notice: psycopg.errors.Diagnostic) -> None:
        if notice.sqlstate == WARNING:
            warnings.append(notice.message_primary or "")

    connection.add_notice_handler(note)
    try:
        yield
    finally:
        connection.remove_notice_handler(note)
    if warnings:
        raise Unreachable(f"the commit is not confirmed: {warnings[0]}")


def making_days(once: Execute) -> Execute:
    """Executes each statement in its own transaction, by `once`: makes history's partition where one is missing."""

    def execute(query: Query | Selection) -> Rows:
        try:
            return once(query)
        except psycopg.errors.CheckViolation as error:
            if not lacks_partition(error):
                raise
            once(Query("history/ensure_partitions"))
            return once(query)

    return execute


def making_days_async(once: AsyncExecute) -> AsyncExecute:
    """As `making_days`, awaited."""

    async def execute(query: Query | Selection) -> Rows:
        try:
            return await once(query)
        except psycopg.errors.CheckViolation as error:
            if not lacks_partition(error):
                raise
            await once(Query("history/ensure_partitions"))
            return await once(query)

    return execute


def lacks_partition(error: psycopg.Error) -> bool:
    """Whether a row found no partition of history for its day: the only check of that table without a name."""
    return error.diag.table_name == "history" and error.diag.constraint_name is None


def on_async_psycopg(connection: psycopg.AsyncConnection[Any]) -> AsyncExecute:
    """As `on_psycopg`, awaited."""

    async def execute(query: Query | Selection) -> Rows:
        async with psycopg.AsyncCursor(connection, row_factory=dict_row) as cursor:
            cursor.format = psycopg.pq.Format.BINARY
            if query.copy is None:
                with confirming(connection, query.confirmed):
                    await cursor.execute(query.text.encode(), query.params)
                return await cursor.fetchall() if cursor.description else []
            async with cursor.copy(query.text.encode()) as copy:
                for row in query.copy:
                    await copy.write_row(row)
            return []

    return execute


def on_sqlalchemy(connection: Connection) -> Execute:
    """Executes through SQLAlchemy, so that its connection knows that a transaction has begun."""

    def execute(query: Query | Selection) -> Rows:
        if query.copy is not None:
            connection.exec_driver_sql("SELECT")  # begins, as any statement does
            return on_psycopg(_driver(connection))(query)
        result = connection.exec_driver_sql(query.text, dict(query.params))
        return [dict(row) for row in result.mappings()] if result.returns_rows else []

    return execute


def on_async_sqlalchemy(connection: AsyncConnection) -> AsyncExecute:
    """As `on_sqlalchemy`, awaited."""

    async def execute(query: Query | Selection) -> Rows:
        if query.copy is not None:
            await connection.exec_driver_sql("SELECT")
            raw = await connection.get_raw_connection()
            return await on_async_psycopg(raw.driver_connection)(query)  # type: ignore[arg-type]
        result = await connection.exec_driver_sql(query.text, dict(query.params))
        return [dict(row) for row in result.mappings()] if result.returns_rows else []

    return execute


def _driver(connection: Connection) -> psycopg.Connection[Any]:
    return connection.connection.driver_connection  # type: ignore[return-value]
