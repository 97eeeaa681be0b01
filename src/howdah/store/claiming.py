"""Claiming jobs, and everything one does with the lease while the attempt runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from howdah.model.errors import JobNotClaimable, JobNotFound, LeaseLost
from howdah.model.job import ClaimedJob, JobState, Lease
from howdah.model.lease import Answer, Busy, CancelReason, Extended, Extension, Lost
from howdah.model.outcome import Actor, Event, Report
from howdah.model.repeats import lost_reason
from howdah.store import rows
from howdah.store.operation import Operation, Query, Row, Rows
from howdah.store.settling import settle, without_lease

LOWEST_PRIORITY, HIGHEST_PRIORITY = -32_768, 32_767


def claim(
    quotas: Mapping[str, int],
    limit: int,
    *,
    worker: str,
    lease: float | None = None,
    claimed: list[ClaimedJob] | None = None,
) -> Operation[list[ClaimedJob]]:
    """Claim at most `limit` jobs: queues in the order given, of each at most its quota.

    `lease` in seconds replaces the kind's. Jobs that are met and must not run (outdated, too late) do not count: it
    goes on behind them until something is claimed or nothing is left. `claimed` gets the jobs with each statement, for
    a caller whose statements are committed one by one.
    """
    left, claimed = dict(quotas), [] if claimed is None else claimed
    while True:
        found = yield from _claim_once(left, limit - len(claimed), worker, lease)
        batch = [rows.claimed_job(row) for row in sorted(found, key=lambda row: row["n"] or 0) if row["id"] is not None]
        claimed.extend(batch)
        if not found or not found[0]["moved"] or len(claimed) >= limit:
            return claimed
        for job in batch:
            left[job.queue] -= 1
        left = {queue: quota for queue, quota in left.items() if quota > 0}
        if not left:
            return claimed


def _claim_once(quotas: Mapping[str, int], limit: int, worker: str, lease: float | None) -> Operation[Rows]:
    # Each queue is one range over all priorities from position 0.
    return (
        yield Query(
            "jobs/claim",
            {
                "queues": list(quotas),
                "lows": [LOWEST_PRIORITY] * len(quotas),
                "highs": [HIGHEST_PRIORITY] * len(quotas),
                "floors": [0] * len(quotas),
                "quotas": list(quotas.values()),
                "limit": limit,
                "worker": worker,
                "lease": lease,
            },
        )
    )


def claim_job(job_id: int, *, worker: str, lease: float | None = None) -> Operation[ClaimedJob]:
    """Claim one job, also of a paused queue: of two callers at once exactly one gets it.

    Raises JobNotFound, or JobNotClaimable with who holds it and until when.
    """
    found = yield Query("jobs/claim_job", {"id": job_id, "worker": worker, "lease": lease})
    if found:
        return rows.claimed_job(found[0])
    job = yield from _row(job_id)
    if job["state"] == JobState.AVAILABLE:
        # Passed over: outdated, or too late to start. Settle it, as a claim of its queue would.
        for event in (Event.SUPERSEDE, Event.EXPIRE):
            yield from settle([(without_lease(job_id), Report(event))], actor=Actor.CLAIM)
        job = yield from _row(job_id)
    running = job["state"] == JobState.RUNNING
    raise JobNotClaimable(
        job_id,
        JobState(job["state"]),
        job["worker"] if running else None,
        job["lease_expires_at"] if running else None,
    )


def start(lease: Lease) -> Operation[Lease]:
    """The accept step: committed, and flushed, before the handler's first instruction. Not repeatable.

    Raises LeaseLost when the lease is not current or has expired; when it has been started, the reason is `taken`.
    """
    found = yield Query("leases/start", {"id": lease.job_id, "token": lease.token}, confirmed=True)
    if not found:
        standing = yield Query("leases/standing", {"ids": [lease.job_id]})
        if standing and isinstance(_busy_or_lost(lease, standing[0]), Busy):
            raise LeaseLost(lease, JobState.RUNNING, "taken")  # live, and begun: by another holder of this very lease
        raise (yield from _lost(lease))
    return replace(lease, expires_at=found[0]["lease_expires_at"])


def extend(lease: Lease, seconds: float) -> Operation[Lease]:
    """Move the lease's end to `seconds` from now, if that is later. Waits for the row. Raises LeaseLost."""
    found = yield Query("leases/extend", {"id": lease.job_id, "token": lease.token, "seconds": seconds})
    if not found:
        raise (yield from _lost(lease))
    return replace(lease, expires_at=found[0]["lease_expires_at"])


def extend_many(extensions: Sequence[Extension]) -> Operation[list[Answer]]:
    """Extend a worker's leases in one pass that waits for no lock; the answers are in the order of the extensions."""
    leases = [extension.lease for extension in extensions]
    found = yield Query(
        "leases/extend_many",
        {
            "ids": [lease.job_id for lease in leases],
            "tokens": [lease.token for lease in leases],
            "seconds": [extension.seconds for extension in extensions],
            "progress": [extension.progress for extension in extensions],
        },
    )
    extended = {(row["id"], row["attempt"]): row for row in found}  # a job may be asked for with an old token too
    missing = [lease for lease in leases if (lease.job_id, lease.token) not in extended]
    standing: dict[Lease, Row] = {}
    if missing:
        rest = yield Query("leases/standing", {"ids": [lease.job_id for lease in missing]})
        standing = {missing[row["n"] - 1]: row for row in rest}
    return [
        _extended(lease, row)
        if (row := extended.get((lease.job_id, lease.token)))
        else _busy_or_lost(lease, standing.get(lease))
        for lease in leases
    ]


def asked(leases: Sequence[Lease]) -> Operation[dict[int, CancelReason]]:
    """What the handlers have been asked meanwhile, by job id; writes nothing."""
    found = yield Query(
        "leases/asked", {"ids": [lease.job_id for lease in leases], "tokens": [lease.token for lease in leases]}
    )
    return {row["id"]: "superseded" if row["outdated"] else "cancelled" for row in found}


def _extended(lease: Lease, row: Row) -> Extended:
    if row["outdated"]:
        return Extended(lease, row["lease_expires_at"], "superseded")
    return Extended(lease, row["lease_expires_at"], "cancelled" if row["cancelled"] else None)


def _busy_or_lost(lease: Lease, row: Row | None) -> Answer:
    if row is None:
        return Lost(lease, "pruned")
    if row["state"] == JobState.RUNNING and row["attempt"] == lease.token and row["live"]:
        return Busy(lease)
    return Lost(lease, lost_reason(rows.trace(row), lease.token))


def _row(job_id: int) -> Operation[Row]:
    found = yield Query("jobs/get", {"id": job_id})
    if not found:
        raise JobNotFound(job_id)
    return found[0]


def _lost(lease: Lease) -> Operation[LeaseLost]:
    found = yield Query("jobs/traces", {"ids": [lease.job_id]})
    trace = rows.trace(found[0]) if found else None
    return LeaseLost(lease, trace.state if trace else None, lost_reason(trace, lease.token))
