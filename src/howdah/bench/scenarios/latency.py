"""Latency: from before the call to enqueue until the handler's first line."""

from __future__ import annotations

import statistics
from contextlib import ExitStack

from howdah.bench import backlog
from howdah.bench.crew import Crew
from howdah.bench.drain import finish, workers
from howdah.bench.figures import depths, latencies
from howdah.bench.ledger import Ledgers
from howdah.bench.place import Bench, Database
from howdah.bench.producing import Produced, produce, too_slow
from howdah.bench.result import Run, Size
from howdah.bench.sampling import wait_for
from howdah.bench.scenario import Case, Scenario
from howdah.bench.target import Target

SLOTS = 10
WORKERS = "SELECT count(*) FROM howdah.workers"


def waking(bench: Bench, size: Size) -> Run:
    """An idle worker, and a job now and then."""
    with ExitStack() as stack:
        database = stack.enter_context(bench.database())
        ledgers = Ledgers(stack.enter_context(bench.folder()), size.jobs)
        crew = stack.enter_context(workers(database, ledgers, {"default": SLOTS}, moments=True))
        crew.ready().go()
        wait_for(lambda: database.one(WORKERS), crew.complaint)
        produced = produce(database, "enqueue", size.jobs, 1, payload=size.payload, rate=size.rate)
        finish(crew, ledgers, database)
        return _run(database, ledgers, produced, size.rate)


def raw_waking(bench: Bench, size: Size) -> Run:
    """INSERT with a NOTIFY, and a listener that claims: no product can be faster."""
    with ExitStack() as stack:
        database = stack.enter_context(bench.database())
        ledgers = Ledgers(stack.enter_context(bench.folder()), size.jobs)
        spec = {"jobs": size.jobs, "ledger": str(ledgers.path(0))}
        crew = stack.enter_context(Crew("raw listen", database.dsn, [spec]))
        crew.ready().go()
        produced = produce(database, "raw enqueue", size.jobs, 1, payload=size.payload, rate=size.rate, notify=True)
        finish(crew, ledgers, database)
        return _run(database, ledgers, produced, size.rate)


def half_load(bench: Bench, size: Size) -> Run:
    """First as many jobs as the producers can make while a worker runs them; then half of that rate."""
    rate = _saturation(bench, size) / 2
    jobs = max(size.processes, int(rate * size.seconds))
    jobs -= jobs % size.processes
    with ExitStack() as stack:
        database = stack.enter_context(bench.database())
        ledgers = Ledgers(stack.enter_context(bench.folder()), jobs)
        crew = stack.enter_context(workers(database, ledgers, {"default": size.slots}, moments=True))
        crew.ready().go()
        wait_for(lambda: database.one(WORKERS), crew.complaint)
        produced = produce(database, "enqueue", jobs, size.processes, payload=size.payload, rate=rate)
        finish(crew, ledgers, database)
        return _run(database, ledgers, produced, rate)


def _saturation(bench: Bench, size: Size) -> float:
    """Jobs per second from the first claim to the last completion, while producers make them one by one."""
    with ExitStack() as stack:
        database = stack.enter_context(bench.database())
        ledgers = Ledgers(stack.enter_context(bench.folder()), size.jobs)
        crew = stack.enter_context(workers(database, ledgers, {"default": size.slots}))
        crew.ready().go()
        wait_for(lambda: database.one(WORKERS), crew.complaint)
        produce(database, "enqueue", size.jobs, size.processes, payload=size.payload)
        finish(crew, ledgers, database)
        return backlog.facts(database, "bench.noop").rate


def _run(database: Database, ledgers: Ledgers, produced: Produced, rate: float) -> Run:
    wrong = ledgers.wrong() + backlog.facts(database, "bench.noop").wrong(produced.jobs)
    began = ledgers.moments()
    seconds = [began[n] - at for n, at in produced.sent.items() if n in began]
    waiting = depths(produced.sent.values(), began.values())
    figures = {
        **latencies(seconds),
        "offered_per_second": rate,
        "jobs_per_second": produced.rate,
        "depth_median": statistics.median(waiting),
    }
    return Run(figures, invalid=too_slow(produced, rate), wrong=wrong)


WAKING = Scenario(
    number=7,
    name="latency",
    measures="from before the call to enqueue until the handler's first line, with an idle worker and a job now and "
    "then; beside an INSERT with NOTIFY and a listener that claims",
    cases=(Case("howdah", waking), Case("raw", raw_waking)),
    targets=(
        Target("howdah", "p50_ms", "<=", 2.0, there=True),
        Target("howdah", "p99_ms", "<=", 4.5, there=True),
    ),
    full=Size(jobs=500, rate=20),
    small=Size(jobs=20, rate=20),
)

HALF_LOAD = Scenario(
    number=8,
    name="latency-loaded",
    measures="the same at half of the rate at which the producers and a worker saturate this machine",
    cases=(Case("howdah", half_load),),
    targets=(Target("howdah", "p99_ms", "<=", 25.0),),
    full=Size(jobs=10_000, processes=2, seconds=10),
    small=Size(jobs=200, processes=2, seconds=0.5),
)
