"""The awaited client: the same operations as `client`, driven by the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from psycopg.conninfo import make_conninfo

from howdah import migrations
from howdah.client import calls, target
from howdah.client.target import AsyncTarget
from howdah.model.errors import LeaseLost
from howdah.model.job import JSON, ClaimedJob, Enqueued, Job, JobState, Lease, NewJob, Reaped
from howdah.model.limits import Seconds, check_whole
from howdah.model.options import Options
from howdah.model.outcome import Outcome
from howdah.store import claiming, enqueueing, jobs, sweeping
from howdah.store.async_connections import AsyncConnections, AsyncSource
from howdah.store.operation import Operation
from howdah.store.retention import retention
from howdah.store.trouble import own_errors

T = TypeVar("T")


class AsyncClient:
    """As `Client`, awaited, with the async targets; bound to the event loop of its first use.

    `source`: a DSN, a `psycopg_pool.AsyncConnectionPool`, a SQLAlchemy `AsyncEngine`, or None for `HOWDAH_DSN`.
    A cancelled call may have been committed all the same: its outcome is unknown.
    """

    __howdah_async_client__ = True

    def __init__(self, source: AsyncSource = None) -> None:
        self._connections = AsyncConnections(source)
        self._days = calls.Days()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Give back the connections that this client opened."""
        await self._connections.close()

    async def migrate(self) -> None:
        """As `Client.migrate`."""
        with own_errors():
            async with self._connections.borrow(check=False) as connection:
                dsn = make_conninfo(connection.info.dsn, password=connection.info.password or None)
                await asyncio.to_thread(migrations.migrate, dsn)

    def new(self, kind: str, args: Mapping[str, Any], **options: Unpack[Options]) -> NewJob:
        """A checked job by its kind's name, not enqueued yet. Raises InvalidArgs, InvalidOption."""
        return calls.new(kind, args, options)

    async def enqueue(
        self, kind: str, args: Mapping[str, Any], *, on: AsyncTarget | None = None, **options: Unpack[Options]
    ) -> Enqueued:
        """As `Client.enqueue`."""
        return await self._on(on, enqueueing.enqueue(calls.new(kind, args, options)))

    async def enqueue_many(self, jobs: Iterable[NewJob], *, on: AsyncTarget | None = None) -> list[Enqueued]:
        """As `Client.enqueue_many`."""
        return await self._on(on, enqueueing.enqueue_many(calls.new_jobs(jobs)), atomic=True)

    async def load(self, jobs: Iterable[NewJob], *, on: AsyncTarget | None = None) -> int:
        """As `Client.load`."""
        return await self._on(on, enqueueing.load(calls.new_jobs(jobs)), atomic=True)

    async def claim(
        self, queues: Sequence[str] = ("default",), *, limit: int = 1, worker: str, lease: Seconds | None = None
    ) -> list[ClaimedJob]:
        """As `Client.claim`."""
        return await self._connections.run(calls.claim(queues, limit, worker, lease))

    async def claim_job(self, job_id: int, *, worker: str, lease: Seconds | None = None) -> ClaimedJob:
        """As `Client.claim_job`."""
        return await self._connections.run(calls.claim_job(job_id, worker, lease))

    async def start(self, lease: Lease) -> Lease:
        """As `Client.start`."""
        return await self._connections.run(claiming.start(lease))

    async def extend(self, lease: Lease, seconds: Seconds) -> Lease:
        """As `Client.extend`."""
        return await self._connections.run(calls.extend(lease, seconds))

    async def complete(self, lease: Lease, result: JSON = None, *, on: AsyncTarget | None = None) -> JobState:
        """As `Client.complete`."""
        in_transaction = on is not None and not isinstance(on, AsyncClient)
        if in_transaction and self._days.is_new():
            if not await self._on(on, sweeping.has_today()):
                await self._connections.run(sweeping.ensure_partitions())
            self._days.seen()
        return await self._on(on, calls.complete(lease, result, in_transaction=in_transaction))

    async def fail(
        self, lease: Lease, error: str | BaseException, *, retry_in: Seconds | None = None, permanent: bool = False
    ) -> JobState:
        """As `Client.fail`."""
        return await self._connections.run(calls.fail(lease, error, retry_in, permanent))

    async def snooze(self, lease: Lease, seconds: Seconds) -> JobState:
        """As `Client.snooze`."""
        return await self._connections.run(calls.snooze(lease, seconds))

    async def release(self, lease: Lease, reason: str, *, excused: bool = True) -> JobState:
        """As `Client.release`."""
        return await self._connections.run(calls.release(lease, reason, excused))

    async def settle_many(self, outcomes: Iterable[tuple[Lease, Outcome]]) -> list[LeaseLost]:
        """As `Client.settle_many`."""
        return await self._connections.run(calls.settle_many(outcomes))

    async def reap(self, limit: int = 1000) -> Reaped:
        """As `Client.reap`."""
        return await self._connections.run_procedure(sweeping.reap_all(check_whole("limit", limit, 1, 10_000)))

    async def sweep(self) -> Mapping[str, int]:
        """As `Client.sweep`."""
        return await self._connections.run_procedure(sweeping.sweep(retention()))

    async def get(self, job_id: int) -> Job:
        """As `Client.get`."""
        return await self._connections.run(jobs.get(calls.check_id(job_id)))

    async def wait(self, job_id: int, timeout: Seconds) -> Job:
        """As `Client.wait`."""
        for pause in calls.polls(timeout):
            if not await self._connections.run(jobs.is_unfinished(calls.check_id(job_id))):
                job = await self.get(job_id)
                if calls.has_ended(job):  # it may have been put back meanwhile
                    return job
            await asyncio.sleep(pause)
        return calls.ended(await self.get(job_id))

    async def cancel(self, job_id: int) -> Job:
        """As `Client.cancel`."""
        return await self._connections.run(jobs.cancel(calls.check_id(job_id)))

    async def requeue(self, job_id: int) -> Job:
        """As `Client.requeue`."""
        return await self._connections.run(jobs.requeue(calls.check_id(job_id)))

    async def resolve(self, job_id: int, state: calls.Resolution, note: str) -> Job:
        """As `Client.resolve`."""
        return await self._connections.run(calls.resolve(job_id, state, note))

    async def pause(self, queue: str) -> None:
        """As `Client.pause`."""
        await self._connections.run(jobs.pause(queue))

    async def resume(self, queue: str) -> None:
        """As `Client.resume`."""
        await self._connections.run(jobs.resume(queue))

    async def __howdah_run__(self, operation: Operation[T], atomic: bool) -> T:
        run = self._connections.transact if atomic else self._connections.run
        return await run(operation)

    async def _on(self, on: AsyncTarget | None, operation: Operation[T], *, atomic: bool = False) -> T:
        if on is None or isinstance(on, AsyncClient):
            return await (on or self).__howdah_run__(operation, atomic)
        return await target.run_on_async(on, operation)
