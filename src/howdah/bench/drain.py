"""The measurement that most scenarios are made of: a backlog, and processes that drain it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from statistics import median
from typing import Any

from howdah.bench import backlog, statements
from howdah.bench.backlog import Facts
from howdah.bench.crew import Crew
from howdah.bench.ledger import Ledgers
from howdah.bench.meter import Cost, Meter
from howdah.bench.place import Bench, Database
from howdah.bench.result import Run, Size
from howdah.bench.sampling import Sampler, wait_for

SLOWEST = 100  # jobs per second; whoever is slower is stuck
GRACE = 5.0  # seconds: a stop waits for nothing that matters here


@dataclass(frozen=True, slots=True)
class Plan:
    """`kind`: which handler. `queues`: queue → slots of a worker. `fill` puts the jobs there. `beside`: what goes on
    meanwhile. `paced`: whether the throughput over the jobs done is wanted."""

    kind: str = "bench.noop"
    queues: Mapping[str, int] | None = None
    fill: Callable[[Database, str, Size], None] | None = None
    beside: Callable[[Database], AbstractContextManager[Any]] = nullcontext
    paced: bool = False


def workers(
    database: Database,
    ledgers: Ledgers,
    queues: Mapping[str, int],
    count: int = 1,
    *,
    moments: bool = False,
    grace: float = GRACE,
    bench: Bench | None = None,
) -> Crew:
    """Worker processes with all kinds of the benchmark, before the gate."""
    profile = bench.profile if bench is not None else None
    common = {"jobs": ledgers.jobs, "queues": queues, "moments": moments, "grace": grace}
    common["profile"] = None if profile is None else str(profile)
    return Crew("work", database.dsn, [{**common, "ledger": str(ledgers.path(n))} for n in range(count)])


def product(plan: Plan) -> Callable[[Bench, Size], Run]:
    """Howdah's workers drain the backlog."""

    def measure(bench: Bench, size: Size) -> Run:
        with ExitStack() as stack:
            database = stack.enter_context(bench.database())
            ledgers = Ledgers(stack.enter_context(bench.folder()), size.jobs)
            _fill(plan, database, size)
            stack.enter_context(plan.beside(database))
            queues = plan.queues or {"default": size.slots}
            with workers(database, ledgers, queues, size.processes, bench=bench) as crew:
                meter = Meter(database, crew.ready().pids)
                with Sampler(lambda: size.jobs - ledgers.ran()) as depth:
                    meter.start()
                    crew.go()
                    finish(crew, ledgers, database)
                    meter.stop()
            if bench.profile is not None:
                statements.keep(database, bench.profile)
            return _run(plan, database, size, meter.cost(size.jobs), depth.values, ledgers.wrong())

    return measure


def raw(plan: Plan, role: str = "raw drain", connections: int | None = None) -> Callable[[Bench, Size], Run]:
    """Plain SQL drains the backlog: one connection per process, or so many as are said in one process."""

    def measure(bench: Bench, size: Size) -> Run:
        with ExitStack() as stack:
            database = stack.enter_context(bench.database())
            _fill(plan, database, size)
            stack.enter_context(plan.beside(database))
            count = size.processes if connections is None else 1
            with Crew(role, database.dsn, [{"connections": connections}] * count) as crew:
                meter = Meter(database, crew.ready().pids)
                meter.start()
                done = sum(crew.go().answers())
                meter.stop()
            wrong = () if done == size.jobs else (f"of {size.jobs} jobs {done} were claimed",)
            return _run(plan, database, size, meter.cost(size.jobs), [], wrong)

    return measure


def finish(crew: Crew, ledgers: Ledgers, database: Database) -> None:
    """Wait until every job has run and is final."""
    jobs = ledgers.jobs

    def standing() -> str:
        return f"{jobs} jobs to end, of which {ledgers.ran()} have begun; {crew.complaint()}"

    patience = 60 + jobs / SLOWEST
    wait_for(lambda: ledgers.ran() >= jobs, standing, patience)
    wait_for(lambda: not backlog.live(database), standing)


def _fill(plan: Plan, database: Database, size: Size) -> None:
    if plan.fill is None:
        backlog.fill(database, plan.kind, size.jobs, size.payload)
    else:
        plan.fill(database, plan.kind, size)


def _run(plan: Plan, database: Database, size: Size, cost: Cost, depths: list[float], wrong: tuple[str, ...]) -> Run:
    said: Facts = backlog.facts(database, plan.kind)
    wrong += said.wrong(size.jobs)
    # All jobs were there before the first claim, so no producer can have limited it.
    figures = {**said.figures(), **cost.figures, "depth_start": float(size.jobs)}
    if depths:
        figures["depth_median"] = median(depths)
    if not plan.paced or wrong:
        return Run(figures, cost.omitted, wrong=wrong)
    paced, points = backlog.pace(database, plan.kind, size.jobs)
    omitted = (
        {} if paced else dict.fromkeys(("first_per_second", "last_per_second"), "one batch had a tenth of the jobs")
    )
    return Run(figures | paced, cost.omitted | omitted, points=points)
