"""Does a worker grow?"""

from __future__ import annotations

from contextlib import ExitStack

from howdah.bench import backlog
from howdah.bench.drain import finish, workers
from howdah.bench.figures import Point, slope
from howdah.bench.ledger import Ledgers
from howdah.bench.place import Bench
from howdah.bench.processes import Unreadable, resident_bytes
from howdah.bench.result import Run, Size
from howdah.bench.sampling import Sampler
from howdah.bench.scenario import Case, Scenario
from howdah.bench.target import Target

MIB = 1024**2
WARM = 0.2  # of the jobs, before which a worker may still grow
EVERY = 0.1


def growth(points: list[Point], jobs: int) -> float | None:
    """MiB per 100,000 jobs after the warm-up; None of too few points. `points`: (jobs done, bytes)."""
    warm = [(done, held / MIB) for done, held in points if WARM * jobs <= done < jobs]
    return 100_000 * slope(warm) if len({done for done, _ in warm}) > 1 else None


def measure(bench: Bench, size: Size) -> Run:
    """Sample a worker's memory while it drains."""
    points: list[Point] = []
    with ExitStack() as stack:
        database = stack.enter_context(bench.database())
        ledgers = Ledgers(stack.enter_context(bench.folder()), size.jobs)
        backlog.fill(database, "bench.noop", size.jobs, size.payload)
        with workers(database, ledgers, {"default": size.slots}, bench=bench) as crew:
            [pid] = crew.ready().pids

            def probe() -> float:
                held = resident_bytes(pid)
                points.append((float(ledgers.ran()), float(held)))
                return held

            try:
                resident_bytes(pid)
            except Unreadable as why:
                return Run({}, {"rss_mib": str(why)}, invalid=("memory cannot be read here",))
            with Sampler(probe, EVERY) as sampler:
                crew.go()
                finish(crew, ledgers, database)
        found, wrong = backlog.facts(database, "bench.noop"), ledgers.wrong()
    figures = {"jobs_per_second": found.rate, "rss_mib": sampler.values[-1] / MIB}
    grown = growth(points, size.jobs)
    if grown is None:
        return Run(figures, {"rss_slope_mib_per_100k": "it was over too soon"}, wrong=wrong + found.wrong(size.jobs))
    return Run(figures | {"rss_slope_mib_per_100k": grown}, wrong=wrong + found.wrong(size.jobs))


MEMORY = Scenario(
    number=14,
    name="memory",
    measures="the memory of one worker over many jobs",
    cases=(Case("howdah", measure),),
    targets=(Target("howdah", "rss_slope_mib_per_100k", "<=", 1.0),),
    full=Size(jobs=1_000_000),
    small=Size(jobs=3_000),
)
