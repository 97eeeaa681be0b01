"""Workers with nothing to do."""

from __future__ import annotations

import time
from contextlib import ExitStack

from howdah.bench.drain import workers
from howdah.bench.ledger import Ledgers
from howdah.bench.meter import Meter
from howdah.bench.place import Bench, Database
from howdah.bench.result import Run, Size
from howdah.bench.sampling import wait_for
from howdah.bench.scenario import Case, Scenario
from howdah.bench.target import Target

TRANSACTIONS = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"
WORKERS = "SELECT count(*) FROM howdah.workers"
SETTLING_IN = 0.1  # of the time: connections that were needed at the start are closed by then


def measure(bench: Bench, size: Size) -> Run:
    """Count transactions and CPU while nothing happens."""
    with ExitStack() as stack:
        database = stack.enter_context(bench.database())
        ledgers = Ledgers(stack.enter_context(bench.folder()), 1)
        crew = stack.enter_context(workers(database, ledgers, {"default": size.slots}, size.processes, grace=0.1))
        crew.ready().go()
        wait_for(lambda: database.one(WORKERS) == size.processes, crew.complaint)
        time.sleep(SETTLING_IN * size.seconds)
        meter = Meter(database, crew.pids)
        meter.start()
        before, began = _transactions(database), time.monotonic()
        time.sleep(size.seconds)
        meter.stop()
        transactions, seconds = _transactions(database) - before, time.monotonic() - began
        cpu = meter.cpu()
        ran = ledgers.ran()
    figures = {"transactions_per_process_second": transactions / seconds / size.processes}
    if len(cpu) == 2:
        figures["core_percent"] = 100 * sum(cpu.values()) / seconds
    return Run(figures, wrong=("a job ran that nobody enqueued",) if ran else ())


def _transactions(database: Database) -> float:
    return float(database.one(TRANSACTIONS))


IDLE = Scenario(
    number=13,
    name="idle",
    measures="200 slots in 8 processes, and nothing to do",
    cases=(Case("howdah", measure),),
    targets=(
        Target("howdah", "transactions_per_process_second", "<=", 2.0),
        Target("howdah", "core_percent", "<=", 1.0),
    ),
    full=Size(jobs=0, processes=8, slots=25, seconds=300, most_runs=1),
    small=Size(jobs=0, processes=2, slots=25, seconds=2),
)
