"""`ctx.transaction()` on psycopg: the handler's writes and the fenced report in one commit."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from howdah.model.job import ClaimedJob, JobState
from howdah.model.outcome import Report
from howdah.model.source_errors import TransactionFailed
from howdah.store.async_connections import AsyncConnections
from howdah.store.connections import Connections
from howdah.store.drivers import on_async_psycopg, on_psycopg, run, run_async
from howdah.store.settling import settle_in_transaction
from howdah.store.trouble import is_lost

# What a handler has set on its connection must not reach the next one's.
FORGET = "RESET ALL; RESET ROLE"


class PsycopgTransaction:
    """One attempt's transaction, on a connection of the blocking or of the async pool, by who opens it.

    psycopg itself refuses commit() and rollback() on a connection inside such a block, which is what is wanted here.
    """

    def __init__(self, blocking: Connections, awaited: AsyncConnections) -> None:
        self._blocking = blocking
        self._awaited = awaited
        self._scope: Any = None
        self._connection: Any = None
        self._block: Any = None

    def open(self) -> psycopg.Connection[Any]:
        """Begin at READ COMMITTED, on another connection if one died in the pool: nothing has happened on it yet."""
        while True:
            self._scope = self._blocking.borrow()
            self._connection = self._scope.__enter__()
            block = self._connection.transaction()
            try:
                block.__enter__()
            except psycopg.Error as error:
                self.abandon()
                if not is_lost(error):
                    raise
            else:
                self._block = block
                return self._connection  # type: ignore[no-any-return]

    def settle(self, job: ClaimedJob, report: Report) -> JobState:
        """Write the report and commit. Raises LeaseLost, TransactionFailed."""
        try:
            self._refuse_unless_open()
            state = run(on_psycopg(self._connection), settle_in_transaction(job, report))
            block, self._block = self._block, None
            block.__exit__(None, None, None)
        except psycopg.Error as error:
            raise self._failure(error) from error
        self.abandon()
        return state

    def abandon(self) -> None:
        """Roll back what is open, and give the connection back."""
        block, self._block = self._block, None
        scope, self._scope = self._scope, None
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
        while True:
            self._scope = self._awaited.borrow()
            self._connection = await self._scope.__aenter__()
            block = self._connection.transaction()
            try:
                await block.__aenter__()
            except psycopg.Error as error:
                await self.aabandon()
                if not is_lost(error):
                    raise
            else:
                self._block = block
                return self._connection  # type: ignore[no-any-return]

    async def asettle(self, job: ClaimedJob, report: Report) -> JobState:
        """As `settle`, awaited."""
        try:
            self._refuse_unless_open()
            state = await run_async(on_async_psycopg(self._connection), settle_in_transaction(job, report))
            block, self._block = self._block, None
            await block.__aexit__(None, None, None)
        except psycopg.Error as error:
            raise self._failure(error) from error
        await self.aabandon()
        return state

    async def aabandon(self) -> None:
        """As `abandon`, awaited."""
        block, self._block = self._block, None
        scope, self._scope = self._scope, None
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

    def _may_be_kept(self) -> bool:
        self._connection.row_factory = tuple_row
        return bool(self._connection.info.transaction_status == TransactionStatus.IDLE)

    def _refuse_unless_open(self) -> None:
        status = self._connection.info.transaction_status
        if status == TransactionStatus.INERROR:
            raise TransactionFailed(RuntimeError("a statement in ctx.transaction() failed, which aborted all of it"))
        if status != TransactionStatus.INTRANS:
            raise TransactionFailed(RuntimeError("the transaction of ctx.transaction() was ended inside of it"))

    def _failure(self, error: psycopg.Error) -> Exception:
        return error if is_lost(error) else TransactionFailed(error)
