"""Long jobs: leases that are extended again and again."""

from __future__ import annotations

import time
from contextlib import ExitStack

from howdah.bench import backlog
from howdah.bench.drain import workers
from howdah.bench.kinds import LEASE_OF_HELD
from howdah.bench.ledger import Ledgers
from howdah.bench.meter import Meter
from howdah.bench.place import Bench, Database
from howdah.bench.result import Run, Size
from howdah.bench.sampling import wait_for
from howdah.bench.scenario import Case, Scenario
from howdah.bench.target import Target

UPDATES = """
SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relid = 'howdah.jobs'::regclass
"""
HELD = "SELECT count(*) FROM howdah.jobs WHERE state = 'running' AND attempt = 1 AND lease_expires_at > howdah.clock()"
NEWEST = "SELECT count(*) FROM howdah.jobs WHERE lease_expires_at > claimed_at + make_interval(secs => %s)"


def measure(bench: Bench, size: Size) -> Run:
    """Count what the extensions of a window do; the claims are over by then."""
    with ExitStack() as stack:
        database = stack.enter_context(bench.database())
        ledgers = Ledgers(stack.enter_context(bench.folder()), size.jobs)
        backlog.fill(database, "bench.held", size.jobs, size.payload)
        slots = -(-size.jobs // size.processes)
        crew = stack.enter_context(workers(database, ledgers, {"default": slots}, size.processes, grace=0.1))
        crew.ready().go()
        wait_for(lambda: ledgers.ran() == size.jobs, crew.complaint)
        # From here every update of these rows is an extension.
        wait_for(lambda: database.one(NEWEST, LEASE_OF_HELD + 1) == size.jobs, crew.complaint)
        meter = Meter(database, crew.pids)
        updates, hot = _updates(database)
        meter.start()
        began = time.monotonic()
        time.sleep(size.seconds)
        meter.stop()
        seconds = time.monotonic() - began
        later, later_hot = _updates(database)
        held = database.one(HELD)
        cpu = meter.cpu()
        wrong = ledgers.wrong() + (() if held == size.jobs else (f"of {size.jobs} leases {held} are held",))
    figures, omitted = {}, {}
    if later > updates:
        figures["hot_percent"] = 100 * (later_hot - hot) / (later - updates)
    else:
        omitted["hot_percent"] = "the window was too short for an extension"
    if "postgres" in cpu:
        figures["postgres_core_percent"] = 100 * cpu["postgres"] / seconds
    return Run(figures, omitted, wrong=wrong)


def _updates(database: Database) -> tuple[int, int]:
    row = database.watch.execute(UPDATES).fetchone()
    assert row is not None
    return row[0], row[1]


LONG = Scenario(
    number=12,
    name="held",
    measures=f"long jobs whose leases of {LEASE_OF_HELD:g} s are extended, in two processes",
    cases=(Case("howdah", measure),),
    targets=(
        Target("howdah", "hot_percent", ">=", 95.0),
        Target("howdah", "postgres_core_percent", "<=", 5.0),
    ),
    full=Size(jobs=10_000, processes=2, seconds=300, most_runs=1),
    small=Size(jobs=100, processes=2, seconds=4),
)
