"""Large args: how often are they written?"""

from __future__ import annotations

from howdah import Client, Complete
from howdah.bench import backlog, kinds, raw
from howdah.bench.place import Bench, Database
from howdah.bench.result import Run, Size
from howdah.bench.scenario import Case, Measure, Scenario
from howdah.bench.target import Target

KIB = 1024
LIMIT = 50
WAL = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"


class WalOf:
    """What each step wrote since the one before, in sizes of the args."""

    def __init__(self, database: Database, args: int) -> None:
        self._database = database
        self._args = args
        self._before = database.one(WAL)
        self.figures: dict[str, float] = {"args_bytes": float(args)}

    def step(self, name: str, jobs: int) -> None:
        """A step is over."""
        now = self._database.one(WAL)
        self.figures[f"{name}_wal_per_args"] = float(now - self._before) / jobs / self._args
        self._before = now


def of_size(payload: int) -> Measure:
    """Enqueue, claim, extend and complete, one step after the other, each for all jobs."""

    def measure(bench: Bench, size: Size) -> Run:
        text = kinds.text_of(payload)
        with bench.database() as database, Client(database.dsn) as client:
            client.resume("default")  # connect now
            wal = WalOf(database, len(raw.args_of(0, text)))
            kinds.noop.enqueue_many(client, [{"n": n, "text": text} for n in range(size.jobs)])
            wal.step("enqueue", size.jobs)
            leases = []
            while batch := client.claim(limit=LIMIT, worker="bench"):
                leases += [job.lease for job in batch]
            wal.step("claim", size.jobs)
            leases = [client.extend(lease, 120) for lease in leases]
            wal.step("extend", size.jobs)
            for start in range(0, len(leases), LIMIT):
                client.settle_many([(lease, Complete()) for lease in leases[start : start + LIMIT]])
            wal.step("complete", size.jobs)
            return Run(wal.figures, wrong=backlog.facts(database, "bench.noop").wrong(size.jobs))

    return measure


def _targets(case: str) -> tuple[Target, ...]:
    # A copy is 1; the rest of a row, its index entries and pages written whole are far less, at these sizes.
    bounds = {"claim": 0.5, "extend": 0.5, "complete": 1.5}
    return tuple(Target(case, f"{step}_wal_per_args", "<=", bound) for step, bound in bounds.items())


BIG_ARGS = Scenario(
    number=16,
    name="args",
    measures="the WAL of each step of jobs with large args that cannot be compressed",
    cases=(Case("10 KiB", of_size(10 * KIB)), Case("100 KiB", of_size(100 * KIB))),
    targets=(*_targets("10 KiB"), *_targets("100 KiB")),
    full=Size(jobs=1_000),
    small=Size(jobs=20),
)
