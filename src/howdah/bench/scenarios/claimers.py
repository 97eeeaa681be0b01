"""Many claimers on one queue, through the client: no memory, no hints, each claim from the bottom."""

from __future__ import annotations

from howdah.bench import backlog
from howdah.bench.crew import Crew
from howdah.bench.meter import Meter
from howdah.bench.place import Bench
from howdah.bench.result import Run, Size
from howdah.bench.scenario import Case, Scenario
from howdah.bench.target import Target

RATE = "jobs_per_second"
LIMIT = 20
FEW, ALL = (1, 2, 4), "all claimers"
SHORTER = 6  # the few need no full minute
KIND = "bench.noop"
LEFT = "SELECT count(*) FROM howdah.jobs"


def claimers(few: int | None) -> Case:
    """So many processes claim and complete for some seconds; the backlog has to outlast them."""

    def measure(bench: Bench, size: Size) -> Run:
        count = few or size.processes
        seconds = size.seconds / SHORTER if few else size.seconds
        with bench.database() as database:
            backlog.fill(database, KIND, size.jobs, size.payload)
            specs = [{"worker": f"claimer-{n}", "limit": LIMIT, "seconds": seconds} for n in range(count)]
            with Crew("claim", database.dsn, specs) as crew:
                meter = Meter(database, crew.ready().pids)
                meter.start()
                answers = crew.go().answers()
                meter.stop()
            claimed = [answer["claimed"] for answer in answers]
            if not all(claimed):
                return Run({}, invalid=("a claimer got nothing in its time",))
            found, left = backlog.facts(database, KIND), database.one(LEFT)
            cost = meter.cost(sum(claimed))
        figures = {
            RATE: found.rate,
            **cost.figures,
            "depth_start": float(size.jobs),
            "depth_least": float(left),
            "least_share": min(claimed) * count / sum(claimed),
            "claims_over_limit": float(sum(answer["over"] for answer in answers)),
            "claims_short": float(sum(answer["short"] for answer in answers)),
        }
        wrong = found.wrong(sum(claimed))
        if sum(claimed) + left != size.jobs:
            wrong += (f"of {size.jobs} jobs {sum(claimed)} were claimed and {left} are left",)
        invalid = () if left >= LIMIT * count else ("the backlog did not outlast the claimers",)
        return Run(figures, cost.omitted, invalid, wrong)

    return Case(_name(few), measure)


def _name(few: int | None) -> str:
    return f"{few} claimer{'s' * (few > 1)}" if few else ALL


CLAIMERS = Scenario(
    number=11,
    name="claimers",
    measures=f"a few processes, and many, that claim {LIMIT} at a time and complete them, on one queue",
    cases=tuple(map(claimers, (*FEW, None))),
    targets=(
        # At least 0.9 of the best of them is at least 0.9 of each.
        *(Target(ALL, RATE, ">=", 0.9, over=(_name(few), RATE)) for few in FEW),
        Target(ALL, "least_share", ">=", 0.2),
        Target(ALL, "claims_over_limit", "<=", 0),
        Target(ALL, "claims_short", "<=", 0),
    ),
    full=Size(jobs=1_200_000, processes=16, seconds=60),
    small=Size(jobs=20_000, processes=5, seconds=1.2),
)
