"""`ctx.transaction()` on psycopg: the handler's writes and the fenced report in one commit."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from howdah.model.job import ClaimedJob, JobState
from howdah.model.outcome import Report
from howdah.model.source_errors import TransactionFailed
from howdah.store.async_connections import AsyncConnections
from howdah.store.connections import Connections
from howdah.store.drivers import on_async_psycopg, on_psycopg, run, run_async
from howdah.store.settling import settle_in_transaction
from howdah.store.trouble import is_lost


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
        """Begin at READ COMMITTED."""
        self._scope = self._blocking.borrow()
        self._connection = self._scope.__enter__()
        self._block = self._connection.transaction()
        self._block.__enter__()
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
        with suppress(psycopg.Error):
            if scope is not None:
                scope.__exit__(None, None, None)

    async def aopen(self) -> psycopg.AsyncConnection[Any]:
        """As `open`, awaited."""
        self._scope = self._awaited.borrow()
        self._connection = await self._scope.__aenter__()
        self._block = self._connection.transaction()
        await self._block.__aenter__()
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
        with suppress(psycopg.Error):
            if scope is not None:
                await scope.__aexit__(None, None, None)

    def _refuse_unless_open(self) -> None:
        status = self._connection.info.transaction_status
        if status == TransactionStatus.INERROR:
            raise TransactionFailed(RuntimeError("a statement in ctx.transaction() failed, which aborted all of it"))
        if status != TransactionStatus.INTRANS:
            raise TransactionFailed(RuntimeError("the transaction of ctx.transaction() was ended inside of it"))

    def _failure(self, error: psycopg.Error) -> Exception:
        return error if is_lost(error) else TransactionFailed(error)
