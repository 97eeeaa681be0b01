"""One old snapshot, open throughout: what is dead stays in the tables and in their indexes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg

from howdah.bench.drain import Plan, product, raw
from howdah.bench.place import Bench, Database
from howdah.bench.result import Run, Size
from howdah.bench.scenario import Case, Scenario
from howdah.bench.target import Target


@contextmanager
def old_snapshot(database: Database) -> Iterator[None]:
    """A transaction that keeps the snapshot of this moment."""
    with psycopg.connect(database.dsn) as holder:
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holder.execute("SELECT count(*) FROM howdah.jobs WHERE id < 0").fetchone()
        yield
        holder.rollback()


PLAN = Plan(beside=old_snapshot, paced=True)


def in_batches_of(slots: int) -> Case:
    """A worker whose claims are as large as its slots allow; `claim_batch` says how large they were."""
    drain = product(PLAN)

    def measure(bench: Bench, size: Size) -> Run:
        return drain(bench, replace(size, slots=slots))

    return Case(f"{slots} slots", measure)


def stays_flat(case: str) -> Target:
    return Target(case, "last_per_second", ">=", 0.9, over=(case, "first_per_second"))


PINNED = Scenario(
    number=9,
    name="horizon",
    measures="one REPEATABLE READ transaction open throughout: the last tenth of the jobs beside the first, in small "
    "and in large batches; raw SQL shows what becomes of the plain claim",
    cases=(in_batches_of(20), in_batches_of(500), Case("raw", raw(PLAN))),
    targets=(stays_flat("20 slots"), stays_flat("500 slots")),
    full=Size(jobs=1_000_000),
    small=Size(jobs=2_000),
)
