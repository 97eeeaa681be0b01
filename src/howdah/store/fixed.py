"""One fixed connection that somebody else owns, as a worker uses it: blocking calls, savepoints for transactions."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any, TypeVar

import psycopg

from howdah.model.job import ClaimedJob, JobState
from howdah.model.outcome import Report
from howdah.model.source_errors import TransactionFailed
from howdah.store.drivers import on_psycopg, run, run_procedure_async
from howdah.store.operation import Operation, Procedure
from howdah.store.settling import settle_in_transaction
from howdah.store.trouble import is_lost

T = TypeVar("T")

LOOK = 0.001  # seconds between looks whether the connection is free


class Turn:
    """Who may use the connection: one attempt's transaction, from its begin to its end, or one operation.

    A lock of threads, since sync handlers have their own; the event loop never blocks on it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def take(self) -> None:
        """Wait for the turn, in a thread."""
        self._lock.acquire()

    async def atake(self) -> None:
        """Wait for the turn, in the event loop."""
        while not self._lock.acquire(blocking=False):  # noqa: ASYNC110  threads take turns too
            await asyncio.sleep(LOOK)

    def give(self) -> None:
        """End the turn."""
        self._lock.release()


class FixedRuns:
    """Runs operations on the connection, inside of whatever transaction its owner has open."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.turn = Turn()

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation."""
        await self.turn.atake()
        try:
            return run(on_psycopg(self.connection), operation)
        finally:
            self.turn.give()

    async def transact(self, operation: Operation[T]) -> T:
        """Run an operation as a whole: in a savepoint, or a transaction where none is open."""
        await self.turn.atake()
        try:
            with self.connection.transaction():
                return run(on_psycopg(self.connection), operation)
        finally:
            self.turn.give()

    async def run_procedure(self, procedure: Procedure[T]) -> T:
        """Run a procedure, each of its operations as a whole."""
        return await run_procedure_async(self.transact, procedure)


class FixedTransaction:
    """An attempt's transaction as a block on the connection, which is its alone until the block ends."""

    def __init__(self, runs: FixedRuns) -> None:
        self._connection = runs.connection
        self._turn = runs.turn
        self._block: Any = None

    def open(self) -> psycopg.Connection[Any]:
        """Begin the block."""
        self._turn.take()
        return self._begin()

    def flush(self) -> None:
        """A connection holds nothing back."""

    def settle(self, job: ClaimedJob, report: Report) -> JobState:
        """Write the report and end the block. Raises LeaseLost, TransactionFailed."""
        try:
            state = run(on_psycopg(self._connection), settle_in_transaction(job, report))
            block, self._block = self._block, None
            try:
                block.__exit__(None, None, None)
            finally:
                self._turn.give()
        except psycopg.Error as error:
            raise error if is_lost(error) else TransactionFailed(error) from error
        return state

    def abandon(self) -> None:
        """Roll the block back, if it is open."""
        block, self._block = self._block, None
        if block is None:
            return
        try:
            with suppress(psycopg.Error, psycopg.Rollback):
                block.__exit__(psycopg.Rollback, psycopg.Rollback(), None)
        finally:
            self._turn.give()

    async def aopen(self) -> psycopg.Connection[Any]:
        """As `open`."""
        await self._turn.atake()
        return self._begin()

    async def aflush(self) -> None:
        """A connection holds nothing back."""

    async def asettle(self, job: ClaimedJob, report: Report) -> JobState:
        """As `settle`."""
        return self.settle(job, report)

    async def aabandon(self) -> None:
        """As `abandon`."""
        self.abandon()

    def _begin(self) -> psycopg.Connection[Any]:
        try:
            self._block = self._connection.transaction()
            self._block.__enter__()
        except BaseException:
            self._block = None
            self._turn.give()
            raise
        return self._connection
