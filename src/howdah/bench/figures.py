"""What is measured, and the arithmetic on it. Pure."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Better: TypeAlias = Literal["higher", "lower"] | None
Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number: what it is, and which way is better, if either is."""

    meaning: str
    better: Better = None


FIGURES = {
    "jobs_per_second": Figure("jobs per second, by the database's clock or the callers'", "higher"),
    "jobs_per_second_made": Figure("the same, with the making of the jobs before the call", "higher"),
    "first_per_second": Figure("jobs per second over the first tenth", "higher"),
    "last_per_second": Figure("jobs per second over the last tenth", "higher"),
    "p50_ms": Figure("median latency, ms", "lower"),
    "p95_ms": Figure("95th percentile, ms", "lower"),
    "p99_ms": Figure("99th percentile, ms", "lower"),
    "offered_per_second": Figure("jobs per second that were asked of the producers"),
    "claim_p50_ms": Figure("median time of one claim, ms", "lower"),
    "claim_p95_ms": Figure("95th percentile of one claim, ms", "lower"),
    "start_to_first_job_seconds": Figure("from the start of a worker's process to the first handler, s", "lower"),
    "open_to_first_job_seconds": Figure("from the worker's first connection to the first handler, s", "lower"),
    "sweep_ms": Figure("one sweep, ms", "lower"),
    "sweep_rows_read": Figure("rows that one sweep read", "lower"),
    "sweep_rows_beyond_due": Figure("rows that one sweep wrote although they were not due", "lower"),
    "least_share": Figure("what the least served claimer got, as a part of its fair share", "higher"),
    "claims_over_limit": Figure("claims that gave more than their limit", "lower"),
    "claims_short": Figure("claims that gave less than their limit"),
    "hot_percent": Figure("HOT updates of all updates, %", "higher"),
    "postgres_core_percent": Figure("CPU of PostgreSQL, % of one core", "lower"),
    "core_percent": Figure("CPU of workers and PostgreSQL, % of one core", "lower"),
    "transactions_per_process_second": Figure("transactions per second and worker process", "lower"),
    "rss_slope_mib_per_100k": Figure("growth of a worker's memory per 100,000 jobs after the warm-up, MiB", "lower"),
    "rss_mib": Figure("memory of a worker at the end, MiB"),
    "args_bytes": Figure("args of one job, bytes"),
    "enqueue_wal_per_args": Figure("WAL per job at enqueue, in sizes of its args", "lower"),
    "claim_wal_per_args": Figure("WAL per job at claim, in sizes of its args", "lower"),
    "extend_wal_per_args": Figure("WAL per job at extension, in sizes of its args", "lower"),
    "complete_wal_per_args": Figure("WAL per job at completion, in sizes of its args", "lower"),
    "claim_batch": Figure("jobs per claim, mean"),
    "settle_batch": Figure("jobs per settling, mean"),
    "depth_start": Figure("available jobs at the start"),
    "depth_median": Figure("available jobs during the run, median"),
    "depth_least": Figure("available jobs during the run, least"),
    "wal_bytes_per_job": Figure("WAL per job, bytes", "lower"),
    "dead_tuples": Figure("dead rows in howdah.jobs at the end"),
    "wal_fsyncs": Figure("flushes of the WAL"),
    "client_cpu_seconds_per_10k": Figure("CPU of workers or clients per 10,000 jobs, s", "lower"),
    "postgres_cpu_seconds_per_10k": Figure("CPU of PostgreSQL per 10,000 jobs, s", "lower"),
}


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measurements of one thing."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread | None:
        """None of nothing."""
        found = sorted(values)
        return cls(statistics.median(found), found[0], found[-1], len(found)) if found else None


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest rank: the smallest value that so many per cent of them do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def latencies(seconds: Sequence[float]) -> dict[str, float]:
    """The percentiles that are reported, in ms."""
    return {f"p{percent}_ms": 1000 * percentile(seconds, percent) for percent in (50, 95, 99)}


def depths(sent: Iterable[float], began: Iterable[float]) -> list[int]:
    """How many jobs were under way to a handler at each moment that one began, that one included."""
    calls = sorted(sent)
    return [bisect_right(calls, at) - place for place, at in enumerate(sorted(began))]


def slope(points: Sequence[Point]) -> float:
    """How much y grows for each x, by least squares."""
    return statistics.linear_regression([x for x, _ in points], [y for _, y in points]).slope


def moments_of(batches: Sequence[tuple[float, int]], marks: Sequence[int]) -> list[float]:
    """When so many jobs had been done. `batches`: (seconds, jobs done then), in order; marks grow."""
    moments, done, ahead = [], 0, iter(marks)
    mark = next(ahead, None)
    for at, jobs in batches:
        done += jobs
        while mark is not None and done >= mark:
            moments.append(at)
            mark = next(ahead, None)
    return moments


def throughput(batches: Sequence[tuple[float, int]], total: int, parts: int) -> tuple[Point, ...]:
    """Jobs per second in each part of a run, by the jobs that had been done at its end: whole batches, at least.

    `batches`: (seconds since the start, jobs done then), in order.
    """
    points: list[Point] = []
    done, before, since = 0, 0, 0.0
    for at, jobs in batches:
        done += jobs
        if at > since and (done == total or (done - before) * parts >= total):
            points.append((float(done), (done - before) / (at - since)))
            before, since = done, at
    return tuple(points)
