"""The blocking client: each method is an operation run on a connection of ours, or on a target of the caller's."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from howdah import migrations
from howdah.client import calls, target
from howdah.client.target import SyncTarget
from howdah.model.errors import LeaseLost
from howdah.model.job import JSON, ClaimedJob, Enqueued, Job, JobState, Lease, NewJob, Reaped
from howdah.model.limits import Seconds, check_whole
from howdah.model.options import Options
from howdah.model.outcome import Outcome
from howdah.store import claiming, enqueueing, jobs, sweeping
from howdah.store.connections import Connections, Source
from howdah.store.operation import Operation
from howdah.store.retention import retention

T = TypeVar("T")


class Client:
    """Everything one can ask of Howdah, blocking. Opens at the first use; threads may share it.

    `source`: a DSN (libpq text, a URL, or `postgresql+psycopg://`), a `psycopg_pool.ConnectionPool`, a SQLAlchemy
    `Engine`, or None for `HOWDAH_DSN`. A pool or engine of yours stays yours to close.

    Methods with `on=` run in the transaction of that target and neither begin nor end it; the others run in their own.
    Any call can raise Unreachable, or SchemaMismatch where the database has not been migrated. After Unreachable the
    outcome of the call is unknown: it may have been committed.
    """

    def __init__(self, source: Source = None) -> None:
        self._connections = Connections(source)
        self._days = calls.Days()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back the connections that this client opened."""
        self._connections.close()

    def migrate(self) -> None:
        """Bring the database to this release's schema; does nothing where it is there already."""
        self._connections.use(migrations.migrate)

    def new(self, kind: str, args: Mapping[str, Any], **options: Unpack[Options]) -> NewJob:
        """A checked job by its kind's name, not enqueued yet. Raises InvalidArgs, InvalidOption."""
        return calls.new(kind, args, options)

    def enqueue(
        self, kind: str, args: Mapping[str, Any], *, on: SyncTarget | None = None, **options: Unpack[Options]
    ) -> Enqueued:
        """Enqueue a job by its kind's name; with a `key` that a live job holds, `created` is False and the id is its.

        Raises InvalidArgs for args that JSON or PostgreSQL cannot hold, InvalidOption.
        """
        return self._on(on, enqueueing.enqueue(calls.new(kind, args, options)))

    def enqueue_many(self, jobs: Iterable[NewJob], *, on: SyncTarget | None = None) -> list[Enqueued]:
        """Enqueue jobs in one transaction; the answers are in their order.

        In one batch the first of a key and the last of a subject win.
        """
        return self._on(on, enqueueing.enqueue_many(calls.new_jobs(jobs)), atomic=True)

    def load(self, jobs: Iterable[NewJob], *, on: SyncTarget | None = None) -> int:
        """Bulk-load jobs by COPY and give their number. Raises InvalidOption for keys and subjects."""
        return self._on(on, enqueueing.load(calls.new_jobs(jobs)), atomic=True)

    def claim(
        self, queues: Sequence[str] = ("default",), *, limit: int = 1, worker: str, lease: Seconds | None = None
    ) -> list[ClaimedJob]:
        """Claim at most `limit` available jobs; queues are served in the order given, each by priority.

        `worker` names who holds the leases; `lease` replaces the kind's (at most 24 h).
        """
        return self._connections.run(calls.claim(queues, limit, worker, lease))

    def claim_job(self, job_id: int, *, worker: str, lease: Seconds | None = None) -> ClaimedJob:
        """Claim one job by its id, also of a paused queue: of two callers at once exactly one gets it.

        Raises JobNotClaimable with who holds it and until when, JobNotFound.
        """
        return self._connections.run(calls.claim_job(job_id, worker, lease))

    def start(self, lease: Lease) -> Lease:
        """The accept step: durable when it returns, and given once. Do not begin after any error. Raises LeaseLost."""
        return self._connections.run(claiming.start(lease))

    def extend(self, lease: Lease, seconds: Seconds) -> Lease:
        """Move the lease's end to `seconds` from now, if that is later. Raises LeaseLost, also after the expiry."""
        return self._connections.run(calls.extend(lease, seconds))

    def complete(self, lease: Lease, result: JSON = None, *, on: SyncTarget | None = None) -> JobState:
        """Complete the attempt; `completed`, or `superseded` where a newer job of its subject has replaced it.

        With `on=` the completion is part of that transaction, and an outdated job raises LeaseLost("superseded") and
        writes nothing, so that you roll back. Said again, it gives the same answer. Raises LeaseLost.
        """
        in_transaction = on is not None and not isinstance(on, Client)
        if in_transaction and self._days.is_new():
            if not self._on(on, sweeping.has_today()):
                self._connections.run(sweeping.ensure_partitions())
            self._days.seen()
        return self._on(on, calls.complete(lease, result, in_transaction=in_transaction))

    def fail(
        self, lease: Lease, error: str | BaseException, *, retry_in: Seconds | None = None, permanent: bool = False
    ) -> JobState:
        """Report a failure: `scheduled` after a backoff, else `discarded` (cap, `permanent`). Raises LeaseLost."""
        return self._connections.run(calls.fail(lease, error, retry_in, permanent))

    def snooze(self, lease: Lease, seconds: Seconds) -> JobState:
        """Run again in `seconds`; the attempt is excused. Raises LeaseLost."""
        return self._connections.run(calls.snooze(lease, seconds))

    def release(self, lease: Lease, reason: str, *, excused: bool = True) -> JobState:
        """Give the job back: available at once when excused, else counted and backed off. Raises LeaseLost."""
        return self._connections.run(calls.release(lease, reason, excused))

    def settle_many(self, outcomes: Iterable[tuple[Lease, Outcome]]) -> list[LeaseLost]:
        """Settle many attempts at once; gives those whose lease was lost, with the reasons."""
        return self._connections.run(calls.settle_many(outcomes))

    def reap(self, limit: int = 1000) -> Reaped:
        """Settle every attempt whose lease has expired, `limit` at a time."""
        return self._connections.run_procedure(sweeping.reap_all(check_whole("limit", limit, 1, 10_000)))

    def sweep(self) -> Mapping[str, int]:
        """One pass of reaper, promoter and pruner, with its counts."""
        return self._connections.run_procedure(sweeping.sweep(retention()))

    def get(self, job_id: int) -> Job:
        """The job, live or finished. Raises JobNotFound."""
        return self._connections.run(jobs.get(calls.check_id(job_id)))

    def wait(self, job_id: int, timeout: Seconds) -> Job:
        """The job once it has ended or is `unknown`. Raises TimeoutError after `timeout` seconds, JobNotFound."""
        for pause in calls.polls(timeout):
            if not self._connections.run(jobs.is_unfinished(calls.check_id(job_id))):
                job = self.get(job_id)
                if calls.has_ended(job):  # it may have been put back meanwhile
                    return job
            time.sleep(pause)
        return calls.ended(self.get(job_id))

    def cancel(self, job_id: int) -> Job:
        """Cancel a job; a running one is asked to end, and stays running until it does. Raises InvalidTransition."""
        return self._connections.run(jobs.cancel(calls.check_id(job_id)))

    def requeue(self, job_id: int) -> Job:
        """Put a final job back, with a fresh budget of attempts. Raises InvalidTransition, JobNotFound."""
        return self._connections.run(jobs.requeue(calls.check_id(job_id)))

    def resolve(self, job_id: int, state: calls.Resolution, note: str) -> Job:
        """Say how an unknown job ended: completed, discarded, or available again. Raises InvalidTransition."""
        return self._connections.run(calls.resolve(job_id, state, note))

    def pause(self, queue: str) -> None:
        """Stop claims of a queue until `resume`."""
        self._connections.run(jobs.pause(queue))

    def resume(self, queue: str) -> None:
        """Let a paused queue be claimed again."""
        self._connections.run(jobs.resume(queue))

    def __howdah_run__(self, operation: Operation[T], atomic: bool) -> T:
        return self._connections.transact(operation) if atomic else self._connections.run(operation)

    def _on(self, on: SyncTarget | None, operation: Operation[T], *, atomic: bool = False) -> T:
        if on is None or isinstance(on, Client):
            return (on or self).__howdah_run__(operation, atomic)
        return target.run_on(on, operation)
