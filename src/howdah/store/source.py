"""The worker's source of jobs on PostgreSQL: on pools, or on one fixed connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import psycopg

from howdah.model.errors import InvalidOption
from howdah.model.job import ClaimedJob, Lease, Policy, Vitals, WorkerInfo
from howdah.model.lease import Answer, CancelReason, Extension
from howdah.model.outcome import Report
from howdah.model.source_errors import BatchRefused
from howdah.store import claiming, settling, sweeping, workers
from howdah.store.async_connections import AsyncConnections
from howdah.store.attempt_transaction import PsycopgTransaction
from howdah.store.bell import Bell
from howdah.store.connections import Connections
from howdah.store.contact import Contact
from howdah.store.drivers import on_psycopg, run
from howdah.store.dsn import for_listening, for_working
from howdah.store.fixed import FixedRuns, FixedTransaction
from howdah.store.keeper_connection import KeeperConnection
from howdah.store.operation import Operation, Procedure
from howdah.store.own_connection import PATIENCE
from howdah.store.settling import Settled
from howdah.store.trouble import is_transient

if TYPE_CHECKING:
    from howdah.store.sqlalchemy_transaction import SqlalchemyTransaction

T = TypeVar("T")

log = logging.getLogger("howdah.worker")

# Claims, settling, the sweep and a start step: what runs beside each other apart from the handlers' transactions.
OWN_CONNECTIONS = 4
# One for the lease keeper, one to listen.
HELD_CONNECTIONS = 2

_TIMED_OUT = (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable)


class Runs(Protocol):
    """Where operations run."""

    async def run(self, operation: Operation[T]) -> T: ...
    async def transact(self, operation: Operation[T]) -> T: ...
    async def run_procedure(self, procedure: Procedure[T]) -> T: ...


class Source:
    """What every source has in common: claiming and settling through operations."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._worker: WorkerInfo | None = None
        self._policies: Sequence[Policy] = ()

    async def open(self, worker: WorkerInfo, policies: Sequence[Policy]) -> None:
        """Register the worker and its kinds' policies."""
        await self._runs.run(sweeping.ensure_partitions())
        await self._runs.run(workers.register_kinds(policies, worker.name))
        await self._runs.run(workers.register_worker(worker))
        self._worker, self._policies = worker, policies

    async def claim(self, quotas: Mapping[str, int], limit: int) -> list[ClaimedJob]:
        """Claim jobs; queues in the order given, of each at most its quota."""
        return await self._runs.run(claiming.claim(quotas, limit, worker=self.worker.name))

    async def start(self, lease: Lease) -> Lease:
        """The accept step."""
        return await self._runs.run(claiming.start(lease))

    async def settle(self, reports: Sequence[tuple[ClaimedJob, Report]]) -> list[Settled]:
        """Settle a batch; what the database cannot take is BatchRefused."""
        plain = {job.id for job, _ in reports if job.is_plain}
        operation = settling.settle_reports([(job.lease, report) for job, report in reports], plain=plain)
        try:
            return await self._runs.run(operation)
        except psycopg.Error as error:
            # What the role's timeouts end may go through in parts, without the row that somebody holds.
            in_parts = isinstance(error, _TIMED_OUT) and len(reports) > 1
            if is_transient(error) and not in_parts:
                raise
            raise BatchRefused(error) from error

    @property
    def worker(self) -> WorkerInfo:
        """The worker that has opened this source."""
        assert self._worker is not None, "open() comes first"
        return self._worker


class PooledSource(Source):
    """On pools: an async one for claims and settling, a blocking one for the transactions of sync handlers, and a
    connection each for the lease keeper and the listener.

    `slots`: how many async handlers run at once, `threads`: how many sync ones, by default as many; 0 where there are
    none. It opens at most `budget` connections: four of its own, the lease keeper's, the listener's, and one for each
    handler in `ctx.transaction()`; those that have been idle for ten seconds are closed.
    """

    keeps_leases = True

    def __init__(self, dsn: str | None, *, slots: int, queues: Sequence[str], threads: int | None = None) -> None:
        conninfo = for_working(dsn)
        threads = slots if threads is None else threads
        contact = Contact()
        self.budget = OWN_CONNECTIONS + HELD_CONNECTIONS + slots + threads
        self.connections = AsyncConnections(conninfo, size=OWN_CONNECTIONS + slots, contact=contact, patience=PATIENCE)
        super().__init__(self.connections)
        self._unheard = False  # whether the last heartbeat had no answer
        self._blocking = Connections(conninfo, size=threads, contact=contact, patience=PATIENCE)
        self._keeper = KeeperConnection(conninfo, contact=contact, patience=PATIENCE)
        # Another address may be away by itself, which is the listener's trouble alone.
        address = for_listening(conninfo)
        self._bell = Bell(address, self.connections, queues, contact=contact if address == conninfo else Contact())

    async def open(self, worker: WorkerInfo, policies: Sequence[Policy]) -> None:
        """Register, and listen."""
        log.info("at most %d connections to PostgreSQL", self.budget)
        await super().open(worker, policies)
        self._bell.open()

    async def close(self) -> None:
        """Leave the list, as far as the database can be reached, and close every connection."""
        await self._bell.close()
        try:
            if self._worker is not None:
                await self._runs.run(workers.leave(self._worker))
        except (psycopg.Error, OSError):
            pass  # the row is forgotten after a day
        finally:
            self._keeper.close()
            self._blocking.close()
            await self.connections.close()

    async def claim(self, quotas: Mapping[str, int], limit: int) -> list[ClaimedJob]:
        """As every source; what a first statement has claimed is not forgotten when the next one fails."""
        claimed: list[ClaimedJob] = []
        try:
            return await self._runs.run(claiming.claim(quotas, limit, worker=self.worker.name, claimed=claimed))
        except (Exception, asyncio.CancelledError):
            if not claimed:
                raise
            return claimed

    async def arm(self) -> None:
        """Ask to be woken."""
        await self._bell.arm()

    async def wait(self, timeout: float) -> None:
        """Until woken, or `timeout` seconds."""
        await self._bell.wait(timeout)

    def extend(self, extensions: Sequence[Extension]) -> list[Answer]:
        """Extend leases, on the keeper's connection."""
        try:
            return self._keeper.run(claiming.extend_many(extensions))
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            # One handler's progress must not cost the others their leases.
            log.warning("progress that PostgreSQL cannot keep is dropped: %s", error.diag.message_primary)
            bare = [replace(extension, progress=None) for extension in extensions]
            return self._keeper.run(claiming.extend_many(bare))

    def asked(self, leases: Sequence[Lease]) -> Mapping[int, CancelReason]:
        """Cancel requests, on the keeper's connection."""
        return self._keeper.run(claiming.asked(leases))

    def beat(self, vitals: Vitals) -> None:
        """The heartbeat, on the keeper's connection; a worker that its database has forgotten registers again."""
        unheard, self._unheard = self._unheard, True
        is_new = self._keeper.run(workers.beat(self.worker, vitals))
        if is_new:
            log.warning("this worker was not on the database's list any more: it and its kinds are written again")
        if is_new or unheard:  # the beat that came without an answer may have been the one that was new
            self._keeper.run(sweeping.ensure_partitions())
            self._keeper.run(workers.register_kinds(self._policies, self.worker.name))
        self._unheard = False
        self._blocking.shrink()

    def transaction(self, on: Any = None, *, is_async: bool) -> PsycopgTransaction | SqlalchemyTransaction:
        """A transaction of the pools, or of an engine or sessionmaker of the user's."""
        if on is None:
            return PsycopgTransaction(self._blocking, self.connections)
        from howdah.store.sqlalchemy_transaction import transaction_on

        return transaction_on(on, is_async=is_async, worker=self.worker.name)


class FixedSource(Source):
    """On one connection that somebody else owns, with its transaction, if any: no pool, no thread, no wake-ups.

    For tests that roll everything back. Leases are not extended, so they must outlast the handlers.
    """

    keeps_leases = False

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._fixed = FixedRuns(connection)
        super().__init__(self._fixed)
        self._connection = connection

    async def close(self) -> None:
        """Leave the list; the connection stays its owner's."""
        if self._worker is not None:
            await self._runs.run(workers.leave(self._worker))

    async def arm(self) -> None:
        """Nobody wakes this source."""

    async def wait(self, timeout: float) -> None:
        """`timeout` seconds."""
        await asyncio.sleep(timeout)

    def extend(self, extensions: Sequence[Extension]) -> list[Answer]:
        """Extend leases, on the connection."""
        return run(on_psycopg(self._connection), claiming.extend_many(extensions))

    def asked(self, leases: Sequence[Lease]) -> Mapping[int, CancelReason]:
        """Cancel requests, on the connection."""
        return run(on_psycopg(self._connection), claiming.asked(leases))

    def beat(self, vitals: Vitals) -> None:
        """The heartbeat, on the connection."""
        run(on_psycopg(self._connection), workers.beat(self.worker, vitals))

    def transaction(self, on: Any = None, *, is_async: bool) -> FixedTransaction:
        """A savepoint, or a transaction where none is open. Raises InvalidOption for another source."""
        if on is not None:
            raise InvalidOption("source", type(on).__name__, "this worker has one connection: leave the source out")
        return FixedTransaction(self._fixed)
