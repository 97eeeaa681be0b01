"""Jobs to begin with, and what history says of them in the end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import psycopg

from howdah.bench.figures import Point, moments_of, throughput
from howdah.bench.kinds import text_of
from howdah.bench.place import Database

FILL = """
INSERT INTO howdah.jobs (kind, args) SELECT %s, jsonb_build_object('n', n, 'text', %s::text)
FROM generate_series(0, %s - 1) AS n
"""
FILL_LINES = """
INSERT INTO howdah.jobs (kind, queue, priority, args)
SELECT %s, x.queue, x.priority, jsonb_build_object('n', x.n - 1, 'text', %s::text)
FROM unnest(%s::text[], %s::smallint[]) WITH ORDINALITY AS x (queue, priority, n)
"""
# `attempt - excused = 1`: what was claimed, given back before it began, and claimed again, ran once.
FACTS = """
SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE state = 'completed' AND attempt - excused = 1),
    coalesce(extract(epoch FROM max(finished_at) - min(claimed_at)), 0)::double precision,
    count(DISTINCT (worker, claimed_at)), count(DISTINCT (worker, finished_at))
FROM howdah.history WHERE kind = %s
"""
BATCHES = """
SELECT extract(epoch FROM finished_at - (SELECT min(claimed_at) FROM howdah.history WHERE kind = %s))::double precision,
    count(*)
FROM howdah.history WHERE kind = %s GROUP BY finished_at ORDER BY finished_at
"""
PARTS = 20
TENTH = 10


@dataclass(frozen=True, slots=True)
class Facts:
    """`seconds`: from the first claim until the last completion, by the database's clock."""

    rows: int
    ids: int
    completed: int
    seconds: float
    claims: int
    settlings: int

    def wrong(self, jobs: int) -> tuple[str, ...]:
        """What is to be said where not every job was completed, by one attempt."""
        if (self.rows, self.ids, self.completed) == (jobs, jobs, jobs):
            return ()
        return (
            f"of {jobs} jobs, history has {self.ids} in {self.rows} rows, {self.completed} completed by one attempt",
        )

    @property
    def rate(self) -> float:
        """Jobs per second."""
        return self.rows / max(self.seconds, 1e-6)

    def figures(self) -> dict[str, float]:
        """What it makes known of a drain by workers, who claim and settle each batch at one moment."""
        return {
            "jobs_per_second": self.rate,
            "claim_batch": self.rows / max(self.claims, 1),
            "settle_batch": self.rows / max(self.settlings, 1),
        }


def fill(database: Database, kind: str, jobs: int, payload: int) -> None:
    """So many available jobs of a kind on the default queue, numbered from 0; then a quiet database."""
    database.watch.execute(FILL, (kind, text_of(payload), jobs))
    quieten(database)


def fill_lines(database: Database, kind: str, lines: Sequence[tuple[str, int]], payload: int) -> None:
    """One job for each (queue, priority)."""
    queues, priorities = [queue for queue, _ in lines], [priority for _, priority in lines]
    database.watch.execute(FILL_LINES, (kind, text_of(payload), queues, priorities))
    quieten(database)


def quieten(database: Database) -> None:
    """Nothing left to do for the server that has to do with what was before."""
    database.watch.execute("VACUUM (ANALYZE) howdah.jobs")
    with suppress(psycopg.errors.InsufficientPrivilege):  # then it comes when it comes, and the spread shows it
        database.watch.execute("CHECKPOINT")


def facts(database: Database, kind: str) -> Facts:
    """What history says."""
    row = database.watch.execute(FACTS, (kind,)).fetchone()
    assert row is not None
    return Facts(*row)


def pace(database: Database, kind: str, jobs: int) -> tuple[dict[str, float], tuple[Point, ...]]:
    """The first and the last tenth, unless one batch had all of it; and the throughput over the jobs done."""
    batches = database.watch.execute(BATCHES, (kind, kind)).fetchall()
    tenth = max(1, jobs // TENTH)
    first, before_last, end = moments_of(batches, [tenth, jobs - tenth, jobs])
    figures = {}
    if end > before_last:
        figures = {"first_per_second": tenth / first, "last_per_second": tenth / (end - before_last)}
    return figures, throughput(batches, jobs, PARTS)


def live(database: Database) -> bool:
    """Whether a job is not final yet."""
    return bool(database.one("SELECT EXISTS (SELECT FROM howdah.jobs)"))
