"""`ctx.transaction()` on psycopg: the handler's writes and the fenced report in one commit."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from howdah.model.errors import Unreachable
from howdah.model.job import ClaimedJob, JobState
from howdah.model.outcome import Report
from howdah.model.source_errors import TransactionFailed
from howdah.store.async_connections import AsyncConnections
from howdah.store.connections import Connections
from howdah.store.drivers import on_async_psycopg, on_psycopg, run, run_async
from howdah.store.own_connection import PATIENCE
from howdah.store.settling import settle_in_transaction
from howdah.store.trouble import is_lost, own_errors

# What a handler has set on its connection must not reach the next one's.
FORGET = "RESET ALL; RESET ROLE; UNLISTEN *; CLOSE ALL; DISCARD TEMP; SELECT pg_advisory_unlock_all()"  # not the plans
# Seconds for a connection to begin on while the database is away: a restart should cost no attempt, nor should a
# connection that fell silent.
WAIT = 15.0
PAUSE = 0.05


class PsycopgTransaction:
    """One attempt's transaction, on a connection of the blocking or of the async pool, by who opens it.

    psycopg itself refuses commit() and rollback() on a connection inside such a block, which is what is wanted here.
    The handler's own statements may take as long as they like; ours are given up when the server is silent.
    """

    def __init__(self, blocking: Connections, awaited: AsyncConnections) -> None:
        self._blocking = blocking
        self._awaited = awaited
        self._scope: Any = None
        self._connection: Any = None
        self._block: Any = None

    def open(self) -> psycopg.Connection[Any]:
        """Begin at READ COMMITTED, again and again for WAIT seconds: nothing has happened yet. Raises Unreachable."""
        until = time.monotonic() + WAIT
        while True:
            try:
                with own_errors():
                    return self._begin()
            except Unreachable:
                self.abandon()
                if time.monotonic() >= until:
                    raise
            time.sleep(PAUSE)

    def flush(self) -> None:
        """A connection holds nothing back."""

    def settle(self, job: ClaimedJob, report: Report) -> JobState:
        """Write the report and commit. Raises LeaseLost, TransactionFailed."""
        self._connection.patience = PATIENCE
        try:
            refuse_unless_open(self._connection)
            state = run(on_psycopg(self._connection), settle_in_transaction(job, report))
            block, self._block = self._block, None
            block.__exit__(None, None, None)
        except psycopg.Error as error:
            raise self._failure(error) from error
        self.abandon()
        return state

    def abandon(self) -> None:
        """Roll back what is open, and give the connection back."""
        block, scope = self._taken()
        undo = psycopg.Rollback()
        with suppress(psycopg.Error, psycopg.Rollback):
            if block is not None:
                block.__exit__(psycopg.Rollback, undo, None)
        if scope is not None:
            with suppress(psycopg.Error):
                if self._may_be_kept():
                    self._connection.execute(FORGET)
                else:
                    self._connection.close()  # or the pool would commit what could not be rolled back
            with suppress(psycopg.Error):
                scope.__exit__(None, None, None)

    async def aopen(self) -> psycopg.AsyncConnection[Any]:
        """As `open`, awaited."""
        until = time.monotonic() + WAIT
        while True:
            try:
                with own_errors():
                    return await self._abegin()
            except Unreachable:
                await self.aabandon()
                if time.monotonic() >= until:
                    raise
            await asyncio.sleep(PAUSE)

    async def aflush(self) -> None:
        """A connection holds nothing back."""

    async def asettle(self, job: ClaimedJob, report: Report) -> JobState:
        """As `settle`, awaited."""
        self._connection.patience = PATIENCE
        try:
            refuse_unless_open(self._connection)
            state = await run_async(on_async_psycopg(self._connection), settle_in_transaction(job, report))
            block, self._block = self._block, None
            await block.__aexit__(None, None, None)
        except psycopg.Error as error:
            raise self._failure(error) from error
        await self.aabandon()
        return state

    async def aabandon(self) -> None:
        """As `abandon`, awaited."""
        block, scope = self._taken()
        undo = psycopg.Rollback()
        with suppress(psycopg.Error, psycopg.Rollback):
            if block is not None:
                await block.__aexit__(psycopg.Rollback, undo, None)
        if scope is not None:
            with suppress(psycopg.Error):
                if self._may_be_kept():
                    await self._connection.execute(FORGET)
                else:
                    await self._connection.close()
            with suppress(psycopg.Error):
                await scope.__aexit__(None, None, None)

    def _begin(self) -> psycopg.Connection[Any]:
        scope = self._blocking.borrow()
        self._connection = connection = scope.__enter__()
        self._scope = scope
        block = connection.transaction()
        block.__enter__()
        self._block = block
        self._connection.patience = None
        return connection

    async def _abegin(self) -> psycopg.AsyncConnection[Any]:
        scope = self._awaited.borrow()
        self._connection = connection = await scope.__aenter__()
        self._scope = scope
        block = connection.transaction()
        await block.__aenter__()
        self._block = block
        self._connection.patience = None
        return connection

    def _taken(self) -> tuple[Any, Any]:
        """What there is to end; nothing the second time."""
        block, self._block = self._block, None
        scope, self._scope = self._scope, None
        if scope is not None:
            self._connection.patience = PATIENCE
        return block, scope

    def _may_be_kept(self) -> bool:
        self._connection.row_factory = tuple_row
        return bool(self._connection.info.transaction_status == TransactionStatus.IDLE)

    def _failure(self, error: psycopg.Error) -> Exception:
        return error if is_lost(error) else TransactionFailed(error)


def refuse_unless_open(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
    """Raise TransactionFailed for a transaction that is aborted, or no longer there."""
    status = connection.info.transaction_status
    if status == TransactionStatus.INERROR:
        raise TransactionFailed(RuntimeError("a statement in ctx.transaction() failed, which aborted all of it"))
    if status != TransactionStatus.INTRANS:
        raise ended_inside()


def ended_inside() -> TransactionFailed:
    """What a `rollback()` in the block comes to."""
    return TransactionFailed(RuntimeError("the transaction of ctx.transaction() was ended inside of it"))
