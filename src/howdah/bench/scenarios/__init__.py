"""The scenarios of the benchmark, by number."""

from __future__ import annotations

from howdah.bench.scenario import Scenario
from howdah.bench.scenarios.big_args import BIG_ARGS
from howdah.bench.scenarios.big_tables import BIG_TABLES
from howdah.bench.scenarios.claimers import CLAIMERS
from howdah.bench.scenarios.draining import DRAIN_ONE, DRAIN_TWO, EFFECTS, MANY_QUEUES, THREADS
from howdah.bench.scenarios.enqueueing import BULK, ONE_BY_ONE
from howdah.bench.scenarios.holding import LONG
from howdah.bench.scenarios.horizon import PINNED
from howdah.bench.scenarios.idling import IDLE
from howdah.bench.scenarios.latency import HALF_LOAD, WAKING
from howdah.bench.scenarios.memory import MEMORY

SCENARIOS: dict[int, Scenario] = {
    scenario.number: scenario
    for scenario in (
        *(DRAIN_ONE, DRAIN_TWO, THREADS, EFFECTS, ONE_BY_ONE, BULK, WAKING, HALF_LOAD),
        *(PINNED, BIG_TABLES, CLAIMERS, LONG, IDLE, MEMORY, MANY_QUEUES, BIG_ARGS),
    )
}
