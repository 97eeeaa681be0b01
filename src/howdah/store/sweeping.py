"""The passes of reaper, promoter and pruner: bounded, skipping what others hold, not stopped by a bad row."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple

import psycopg

from howdah.model.job import JobState, Reaped
from howdah.model.outcome import Actor, Event, Report
from howdah.store.drivers import lacks_partition
from howdah.store.operation import Operation, Procedure, Query
from howdah.store.retention import DAY
from howdah.store.settling import settle, without_lease
from howdah.store.trouble import is_lost

log = logging.getLogger("howdah.sweep")

BATCH = 1_000


def sweep(retention: float) -> Procedure[Mapping[str, int]]:
    """One pass of everything, with its counts. `retention` of history in seconds, at least a day."""
    history = yield from sweep_history(retention)  # first: what the others finish needs today's partition
    return {**(yield from sweep_jobs()), **history}


def sweep_jobs(*, reaping: bool = True) -> Procedure[Mapping[str, int]]:
    """Reaper and promoter, neither stopped by the other; `reaping=False` leaves leases alone."""
    promoted = yield from _guarded("promoting", _until_short(promote))
    reaped = (yield from reap_all(BATCH)) if reaping else Reaped()
    expired = yield from _guarded("expiring", expire_all(BATCH))
    return {**asdict(reaped), "expired": expired, "promoted": promoted}


def sweep_history(retention: float) -> Procedure[Mapping[str, int]]:
    """Partitions for the days to come, and the pruner."""
    yield ensure_partitions()
    return {"pruned": (yield from prune(retention))}


def reap_all(limit: int) -> Procedure[Reaped]:
    """Settle every expired lease, `limit` at a time; a row that cannot be settled is logged and left out."""
    total, after = Reaped(), 0
    while True:
        try:
            batch: Reaped = yield reap(limit, after=after)
            found = sum(astuple(batch))
        except psycopg.Error as error:
            if is_lost(error):
                raise
            if lacks_partition(error):
                yield ensure_partitions()
            ids: list[int] = yield _expired_ids(limit, after)
            batch = yield from _one_by_one(ids)
            # Go on behind them: as many bad rows as the limit would be all that every pass sees.
            found, after = len(ids), max(ids, default=after)
        total = add(total, batch)
        if found < limit:
            return total


def reap(limit: int, *, after: int = 0, only: int | None = None) -> Operation[Reaped]:
    """Settle at most `limit` attempts whose lease has expired, of jobs with ids over `after`, or of one job only.

    Needs a transaction: the locks are kept to its end.
    """
    found = yield Query("leases/find_expired", {"limit": limit, "after": after, "only": only})
    reports = [(without_lease(row["id"], row["attempt"]), Report(Event.REAP)) for row in found]
    states = Counter((yield from settle(reports, actor=Actor.REAPER)).values())
    return Reaped(
        retried=states[JobState.SCHEDULED] + states[JobState.AVAILABLE],
        discarded=states[JobState.DISCARDED],
        unknown=states[JobState.UNKNOWN],
        superseded=states[JobState.SUPERSEDED],
        cancelled=states[JobState.CANCELLED],
    )


def add(left: Reaped, right: Reaped) -> Reaped:
    """The sum of two passes."""
    return Reaped(*(a + b for a, b in zip(astuple(left), astuple(right), strict=True)))


def expire_all(limit: int) -> Procedure[int]:
    """Move jobs whose time to start has passed to history; one that cannot be moved is logged and left out."""
    total = 0
    while True:
        try:
            done: int = yield expire(limit)
        except psycopg.Error as error:
            if is_lost(error):
                raise
            return total + (yield from _expire_one_by_one((yield _late_ids(limit))))
        total += done
        if done < limit:
            return total


def expire(limit: int, only: int | None = None) -> Operation[int]:
    """Move at most `limit` jobs whose time to start has passed to history. Needs a transaction."""
    found = yield Query("jobs/find_late", {"limit": limit, "only": only})
    reports = [(without_lease(row["id"]), Report(Event.EXPIRE)) for row in found]
    return len((yield from settle(reports, actor=Actor.PROMOTER)))


def promote(limit: int) -> Operation[int]:
    """Make at most `limit` due jobs available."""
    found = yield Query("jobs/promote", {"limit": limit})
    return int(found[0]["promoted"])


def prune(retention: float) -> Procedure[int]:
    """Drop history past its retention, keys past their window, and workers silent for a day. Gives the steps done."""
    done = 0
    try:
        while (yield _prune_history(retention)):
            done += 1
    except psycopg.errors.LockNotAvailable:
        log.info("history is being read: its retention goes on at the next sweep")
    except psycopg.Error as error:  # a view on an old day, for one
        if is_lost(error):
            raise
        log.error("history past its retention cannot be dropped: %s", error.diag.message_primary)
    done += yield from _guarded("pruning keys", _until_short(_prune_keys))
    yield _forget_workers()
    return done


def ensure_partitions() -> Operation[None]:
    """Make history's partitions for the next 14 days, where they are missing."""
    yield Query("history/ensure_partitions")


def has_today() -> Operation[bool]:
    """Whether history has its partition for today."""
    return bool((yield Query("history/has_today"))[0]["there"])


def take_turn(name: str, interval: float) -> Operation[bool]:
    """Whether this process does the sweep of this interval, in seconds: one in the whole database."""
    return bool((yield Query("history/take_turn", {"name": name, "interval": interval})))


def _one_by_one(ids: Sequence[int]) -> Procedure[Reaped]:
    total = Reaped()
    for job_id in ids:
        try:
            total = add(total, (yield reap(1, only=job_id)))
        except psycopg.Error as error:
            if is_lost(error):
                raise
            # Not the whole error: its detail holds the row, args included.
            log.error("job %s cannot be settled, its lease stays expired: %s", job_id, error.diag.message_primary)
    return total


def _expire_one_by_one(ids: Sequence[int]) -> Procedure[int]:
    done = 0
    for job_id in ids:
        done += yield from _guarded(f"expiring job {job_id}", _once(expire(1, only=job_id)))
    return done


def _guarded(what: str, procedure: Procedure[int]) -> Procedure[int]:
    """A part of a pass whose failure, an outage apart, must not stop the other parts."""
    try:
        return (yield from procedure)
    except psycopg.Error as error:
        if is_lost(error):
            raise
        log.error("%s failed: %s", what, error.diag.message_primary)
        return 0


def _once(operation: Operation[int]) -> Procedure[int]:
    result: int = yield operation
    return result


def _late_ids(limit: int) -> Operation[list[int]]:
    found = yield Query("jobs/find_late", {"limit": limit, "only": None})
    return [row["id"] for row in found]


def _expired_ids(limit: int, after: int) -> Operation[list[int]]:
    found = yield Query("leases/find_expired", {"limit": limit, "after": after, "only": None})
    return [row["id"] for row in found]


def _until_short(step: Callable[[int], Operation[int]]) -> Procedure[int]:
    total = 0
    while True:
        done: int = yield step(BATCH)
        total += done
        if done < BATCH:
            return total


def _prune_history(retention: float) -> Operation[str | None]:
    found = yield Query("history/prune", {"retention": max(retention, DAY)})
    return found[0]["did"] if found else None


def _prune_keys(limit: int) -> Operation[int]:
    found = yield Query("history/prune_keys", {"limit": limit})
    return int(found[0]["deleted"])


def _forget_workers() -> Operation[None]:
    yield Query("workers/forget")
