"""One fixed connection that somebody else owns, as a worker uses it: blocking calls, savepoints for transactions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeVar

import psycopg

from howdah.model.job import ClaimedJob, JobState
from howdah.model.outcome import Report
from howdah.model.source_errors import TransactionFailed
from howdah.store.drivers import on_psycopg, run, run_procedure_async
from howdah.store.operation import Operation, Procedure
from howdah.store.settling import settle_one
from howdah.store.trouble import is_lost

T = TypeVar("T")


class FixedRuns:
    """Runs operations on the connection, inside of whatever transaction its owner has open."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    async def run(self, operation: Operation[T]) -> T:
        """Run an operation."""
        return run(on_psycopg(self._connection), operation)

    async def transact(self, operation: Operation[T]) -> T:
        """Run an operation as a whole: in a savepoint, or a transaction where none is open."""
        with self._connection.transaction():
            return run(on_psycopg(self._connection), operation)

    async def run_procedure(self, procedure: Procedure[T]) -> T:
        """Run a procedure, each of its operations as a whole."""
        return await run_procedure_async(self.transact, procedure)


class FixedTransaction:
    """An attempt's transaction as a block on the connection."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._block: Any = None

    def open(self) -> psycopg.Connection[Any]:
        """Begin the block."""
        self._block = self._connection.transaction()
        self._block.__enter__()
        return self._connection

    def settle(self, job: ClaimedJob, report: Report) -> JobState:
        """Write the report and end the block. Raises LeaseLost, TransactionFailed."""
        try:
            state = run(on_psycopg(self._connection), settle_one(job.lease, report, in_transaction=True))
            block, self._block = self._block, None
            block.__exit__(None, None, None)
        except psycopg.Error as error:
            raise error if is_lost(error) else TransactionFailed(error) from error
        return state

    def abandon(self) -> None:
        """Roll the block back, if it is open."""
        block, self._block = self._block, None
        with suppress(psycopg.Error, psycopg.Rollback):
            if block is not None:
                block.__exit__(psycopg.Rollback, psycopg.Rollback(), None)

    async def aopen(self) -> psycopg.Connection[Any]:
        """As `open`."""
        return self.open()

    async def asettle(self, job: ClaimedJob, report: Report) -> JobState:
        """As `settle`."""
        return self.settle(job, report)

    async def aabandon(self) -> None:
        """As `abandon`."""
        self.abandon()
