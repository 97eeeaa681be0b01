"""Enqueueing: one job, many, or a bulk load, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import msgspec

from howdah.model.errors import InvalidOption
from howdah.model.job import Enqueued, NewJob
from howdah.store.operation import Operation, Query, Row

CHUNK = 5_000
# Keys are taken in sorted order within a call, so that two calls cannot deadlock: as few calls as memory allows.
GUARDED_CHUNK = 100_000


def enqueue(job: NewJob) -> Operation[Enqueued]:
    """Enqueue one job: a bare INSERT, or one function call where a key or a subject has to be looked at."""
    if _guarded(job):
        rows = yield Query("jobs/enqueue_guarded", {"jobs": _as_json([job])})
    else:
        rows = yield Query("jobs/enqueue", {**asdict(job), "tags": list(job.tags)})
    return _enqueued(rows[0])


def enqueue_many(jobs: Sequence[NewJob]) -> Operation[list[Enqueued]]:
    """Enqueue jobs in chunks; the answers are in their order. The first of a key and the last of a subject win."""
    answers: list[Enqueued] = []
    guarded = any(map(_guarded, jobs))
    for chunk in _chunks(jobs, GUARDED_CHUNK if guarded else CHUNK):
        if guarded:
            rows = yield Query("jobs/enqueue_guarded", {"jobs": _as_json(chunk)})
        else:
            rows = yield Query("jobs/enqueue_many", _columns(chunk))
        answers.extend(map(_enqueued, rows))
    return answers


def load(jobs: Sequence[NewJob]) -> Operation[int]:
    """Bulk-load jobs by COPY and give their number. Raises InvalidOption for a key or a subject."""
    for job in jobs:
        if _guarded(job):
            raise InvalidOption("key", job.key or job.subject, "load() takes no keys or subjects: use enqueue_many()")
    kinds = sorted({job.kind for job in jobs})
    rows = yield Query("kinds/queues", {"kinds": kinds})
    now, queues = rows[0]["now"], {row["kind"]: row["queue"] for row in rows if row["queue"]}
    yield Query("jobs/load", copy=[_loaded(job, queues, now) for job in jobs])
    yield Query(
        "jobs/ring", {"queues": sorted({job.queue or queues.get(job.kind, job.fallback_queue) for job in jobs})}
    )
    return len(jobs)


def _guarded(job: NewJob) -> bool:
    return job.key is not None or job.subject is not None


def _enqueued(row: Row) -> Enqueued:
    return Enqueued(row["id"], row["created"])


def _chunks(jobs: Sequence[NewJob], size: int) -> Iterator[Sequence[NewJob]]:
    return (jobs[start : start + size] for start in range(0, len(jobs), size))


def _as_json(jobs: Sequence[NewJob]) -> str:
    objects = [
        {**asdict(job), "args": msgspec.Raw(job.args.encode()), "headers": msgspec.Raw(job.headers.encode())}
        for job in jobs
    ]
    return msgspec.json.encode(objects).decode()


def _columns(jobs: Sequence[NewJob]) -> dict[str, Any]:
    return {
        "kinds": [job.kind for job in jobs],
        "queues": [job.queue for job in jobs],
        "fallback_queues": [job.fallback_queue for job in jobs],
        "priorities": [job.priority for job in jobs],
        "delays": [job.delay for job in jobs],
        "run_ats": [job.run_at for job in jobs],
        "expires_ins": [job.expires_in for job in jobs],
        "max_attempts": [job.max_attempts for job in jobs],
        "args": [job.args for job in jobs],
        "headers": [job.headers for job in jobs],
        "tags": [msgspec.json.encode(job.tags).decode() for job in jobs],
    }


def _loaded(job: NewJob, queues: dict[str, str], now: Any) -> tuple[Any, ...]:
    run_at = job.run_at or now + timedelta(seconds=job.delay or 0)
    return (
        job.kind,
        job.queue or queues.get(job.kind, job.fallback_queue),
        "scheduled" if run_at > now else "available",
        job.priority,
        run_at,
        None if job.expires_in is None else now + timedelta(seconds=job.expires_in),
        job.max_attempts,
        job.args,
        job.headers,
        list(job.tags),
    )
