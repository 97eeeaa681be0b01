"""What a worker sees of the world: where jobs come from and where reports go. It knows no database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from howdah.model.errors import LeaseLost
from howdah.model.job import ClaimedJob, JobState, Lease, Policy, Vitals, WorkerInfo
from howdah.model.lease import Answer, CancelReason, Extension
from howdah.model.outcome import Report

Settled: TypeAlias = JobState | LeaseLost


class AttemptTransaction(Protocol):
    """The one transaction of an attempt: the handler writes in it, and it ends with the fenced report.

    The plain methods belong to the handler's thread, those that begin with `a` to the event loop.
    """

    def open(self) -> Any:
        """Begin at READ COMMITTED; gives the connection, or a session on it. Nothing but `settle` commits on it."""

    def flush(self) -> None:
        """The handler's block is over: write what its session still holds back, so that an error of it is raised there.

        `abandon` follows every error.
        """

    def settle(self, job: ClaimedJob, report: Report) -> JobState:
        """Write the report in this transaction, commit, and give the connection back.

        Raises LeaseLost when the lease is gone, `model.source_errors.TransactionFailed` when the handler's writes
        cannot be committed. After any other error the outcome is unknown. `abandon` follows every error.
        """

    def abandon(self) -> None:
        """Roll back, and give the connection back. Never raises, whatever came before, and may be repeated."""

    async def aopen(self) -> Any: ...

    async def aflush(self) -> None: ...

    async def asettle(self, job: ClaimedJob, report: Report) -> JobState: ...

    async def aabandon(self) -> None: ...


class JobSource(Protocol):
    """Jobs and their reports. `extend`, `asked` and `beat` block: the lease keeper's own thread calls them.

    Of `claim`, `arm` and `wait` one runs at a time, of `settle` too; all others may overlap with each other and these.
    A call that is cancelled leaves the source usable.
    """

    keeps_leases: bool  # False: no keeper thread may run beside it (a source on one fixed connection)

    async def open(self, worker: WorkerInfo, policies: Sequence[Policy]) -> None:
        """Register the worker and its kinds' policies; be ready to claim."""

    async def close(self) -> None:
        """Take the worker off the list and give everything back; also after an `open` that failed or was cancelled.

        Never raises for a source that is gone.
        """

    async def claim(self, quotas: Mapping[str, int], limit: int) -> list[ClaimedJob]:
        """Claim at most `limit` jobs: queues in the order given, of each at most its quota."""

    async def start(self, lease: Lease) -> Lease:
        """The accept step: durable when it returns. Raises LeaseLost; after any other error, do not begin."""

    async def settle(self, reports: Sequence[tuple[ClaimedJob, Report]]) -> list[Settled]:
        """Settle attempts in one batch; the answers are in the order of the reports.

        Raises `model.source_errors.BatchRefused` for a report that can never be written. After any other error the
        same reports are sent again, some of them perhaps in another batch.
        """

    async def arm(self) -> None:
        """Ask to be woken by the next enqueue. Claim once more after this, then `wait`."""

    async def wait(self, timeout: float) -> None:
        """Return at the next wake-up, or after `timeout` seconds. It may be cancelled at any moment."""

    def extend(self, extensions: Sequence[Extension]) -> list[Answer]:
        """Extend leases; the answers are in the order of the extensions. Blocks."""

    def asked(self, leases: Sequence[Lease]) -> Mapping[int, CancelReason]:
        """Why the handlers of these leases are asked to end, by job id; nothing for the others. Blocks."""

    def beat(self, vitals: Vitals) -> None:
        """Tell that the worker is alive, and how it is. Blocks."""

    def transaction(self, on: Any = None, *, is_async: bool) -> AttemptTransaction:
        """The transaction for one attempt, not begun yet; `on` the user's engine or sessionmaker, if there is one.

        `is_async`: whether the handler is. Raises TypeError and InvalidOption for what `on` cannot be, RuntimeError
        for an awaited one in a sync handler and the other way round.
        """
