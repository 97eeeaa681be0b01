"""Draining a backlog: on the event loop, in threads, in transactions, over many queues."""

from __future__ import annotations

import random

from howdah.bench import backlog
from howdah.bench.drain import Plan, product, raw
from howdah.bench.place import Database
from howdah.bench.result import Size
from howdah.bench.scenario import Case, Scenario
from howdah.bench.target import Target

NOOP = Plan("bench.noop")
EFFECT = Plan("bench.effect")
RATE = "jobs_per_second"
CONNECTIONS = 10

DRAIN_ONE = Scenario(
    number=1,
    name="drain-1",
    measures="no-op async jobs, one worker process, beside raw SQL on one connection",
    cases=(Case("howdah", product(NOOP)), Case("raw", raw(NOOP))),
    targets=(
        Target("howdah", RATE, ">=", 0.85, over=("raw", RATE)),
        Target("howdah", RATE, ">=", 62_000, there=True),
    ),
    full=Size(jobs=200_000),
    small=Size(jobs=2_000),
)

DRAIN_TWO = Scenario(
    number=2,
    name="drain-2",
    measures="the same, two worker processes, beside raw SQL on two connections",
    cases=DRAIN_ONE.cases,
    targets=(
        Target("howdah", RATE, ">=", 1.15, over=("raw", RATE)),
        Target("howdah", RATE, ">=", 82_000, there=True),
    ),
    full=Size(jobs=200_000, processes=2),
    small=Size(jobs=2_000, processes=2),
)

THREADS = Scenario(
    number=3,
    name="threads",
    measures="no-op sync jobs, which run in threads, beside the same as async jobs",
    cases=(Case("sync", product(Plan("bench.sync"))), Case("async", product(NOOP))),
    targets=(Target("sync", RATE, ">=", 0.35, over=("async", RATE)),),
    full=Size(jobs=100_000),
    small=Size(jobs=1_000),
)

EFFECTS = Scenario(
    number=4,
    name="transactions",
    measures=f"handlers that insert one row in ctx.transaction(), {CONNECTIONS} at once, beside raw SQL that does "
    f"all of it, claim included, in one transaction per job on {CONNECTIONS} connections",
    cases=(Case("howdah", product(EFFECT)), Case("raw", raw(EFFECT, "raw effects", CONNECTIONS))),
    targets=(Target("howdah", RATE, ">=", 0.7, over=("raw", RATE)),),
    full=Size(jobs=20_000, slots=CONNECTIONS),
    small=Size(jobs=500, slots=CONNECTIONS),
)

QUEUES, PRIORITIES = [f"line-{n:03}" for n in range(100)], range(10)
OF_EACH_QUEUE = 10  # slots


def zipf(jobs: int) -> list[tuple[str, int]]:
    """A queue and a priority for each job; the second queue gets half of what the first gets, and so on."""
    chance = random.Random(jobs)  # noqa: S311  the same in each run
    weights = [1 / rank for rank in range(1, len(QUEUES) + 1)]
    return [(queue, chance.choice(PRIORITIES)) for queue in chance.choices(QUEUES, weights, k=jobs)]


def fill_lines(database: Database, kind: str, size: Size) -> None:
    """The backlog over all queues."""
    backlog.fill_lines(database, kind, zipf(size.jobs), size.payload)


MANY_QUEUES = Scenario(
    number=15,
    name="queues",
    measures="100 queues with 10 priorities, Zipf-distributed, 10 slots each, beside one queue",
    cases=(
        Case("100 queues", product(Plan(queues=dict.fromkeys(QUEUES, OF_EACH_QUEUE), fill=fill_lines))),
        Case("1 queue", product(NOOP)),
    ),
    targets=(Target("100 queues", RATE, ">=", 0.7, over=("1 queue", RATE)),),
    full=Size(jobs=200_000),
    small=Size(jobs=2_000),
)
