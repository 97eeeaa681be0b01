"""Enqueueing: one by one, and in bulk."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import psycopg

from howdah import Client, NewJob
from howdah.bench import backlog, baseline, kinds, raw
from howdah.bench.crew import Crew
from howdah.bench.drain import finish, workers
from howdah.bench.ledger import Ledgers
from howdah.bench.meter import Meter
from howdah.bench.place import Bench, Database
from howdah.bench.producing import produce
from howdah.bench.result import Run, Size
from howdah.bench.sampling import wait_for
from howdah.bench.scenario import Case, Measure, Scenario
from howdah.bench.target import Target

RATE = "jobs_per_second"
SLOTS = 10
ONE, ALL = "1 client", "all clients"
BUSY_WITH = "bench.held"
NOT_ENQUEUED = "SELECT count(*) FROM howdah.jobs WHERE kind = %s AND state = 'available'"
WORKERS = "SELECT count(*) FROM howdah.workers"


def one_by_one(role: str, who: str, *, busy: bool) -> Measure:
    """Each job in a commit of its own, beside one worker with nothing else to do, or with no slot free."""

    def measure(bench: Bench, size: Size) -> Run:
        clients = 1 if who == ONE else size.processes
        jobs = size.jobs * clients
        with ExitStack() as stack:
            database = stack.enter_context(bench.database())
            if busy:
                backlog.fill(database, BUSY_WITH, SLOTS, size.payload)
            ledgers = Ledgers(stack.enter_context(bench.folder()), SLOTS if busy else jobs)
            with workers(database, ledgers, {"default": SLOTS}, grace=0.1) as crew:
                crew.ready().go()
                wait_for(lambda: database.one(WORKERS), crew.complaint)
                if busy:
                    wait_for(lambda: ledgers.ran() == SLOTS, crew.complaint)
                meter = Meter(database, crew.pids)
                meter.start()
                produced = produce(database, role, jobs, clients, payload=size.payload)
                meter.stop()
                wrong = _verify(database, ledgers, crew, jobs, busy=busy)
            return Run({RATE: produced.rate} | _costs(meter, jobs), wrong=wrong)

    return measure


def _verify(database: Database, ledgers: Ledgers, crew: Crew, jobs: int, *, busy: bool) -> tuple[str, ...]:
    if not busy:
        finish(crew, ledgers, database)
        return ledgers.wrong() + backlog.facts(database, "bench.noop").wrong(jobs)
    there = database.one(NOT_ENQUEUED, "bench.noop")
    return () if there == jobs else (f"of {jobs} jobs {there} are there",)


def _costs(meter: Meter, jobs: int) -> dict[str, float]:
    """Without the CPU: it would be that of the worker, too."""
    figures = meter.cost(jobs).figures
    return {name: figures[name] for name in ("wal_bytes_per_job", "wal_fsyncs") if name in figures}


def _cases() -> tuple[Case, ...]:
    cases = [
        Case(f"{who}, {state}{suffix}", one_by_one(role, who, busy=state == "busy"))
        for state in ("idle", "busy")
        for who in (ONE, ALL)
        for role, suffix in (("enqueue", ""), ("raw enqueue", ", raw"))
    ]
    return (*cases, Case(f"{ONE}, idle, async", one_by_one("enqueue async", ONE, busy=False)))


ONE_BY_ONE = Scenario(
    number=5,
    name="enqueue",
    measures="jobs enqueued one at a time by one and by several processes, each job its own commit, beside a worker "
    "that is idle, or has no slot free",
    cases=_cases(),
    targets=(
        *(
            Target(f"{who}, {state}", RATE, ">=", 0.9, over=(f"{who}, {state}, raw", RATE))
            for state in ("idle", "busy")
            for who in (ONE, ALL)
        ),
        *(Target(f"{ALL}, {state}", RATE, ">=", 3.0, over=(f"{ONE}, {state}", RATE)) for state in ("idle", "busy")),
    ),
    full=Size(jobs=3_000, processes=8),
    small=Size(jobs=60, processes=2),
)


def bulk(make: Callable[[Size], Any], send: Callable[[Database, Any], object], times: int = 1) -> Measure:
    """`make` what is to be enqueued, `times` the jobs of the size, and `send` it in one call."""

    def measure(bench: Bench, size: Size) -> Run:
        jobs = size.jobs * times
        with bench.database() as database:
            began = time.perf_counter()
            made = make(Size(jobs=jobs, payload=size.payload))
            making = time.perf_counter() - began
            meter = Meter(database, ())
            meter.start()
            began = time.perf_counter()
            send(database, made)
            seconds = time.perf_counter() - began
            meter.stop()
            there = database.one(NOT_ENQUEUED, "bench.noop")
            figures = {RATE: jobs / seconds, "jobs_per_second_made": jobs / (seconds + making)}
            wrong = () if there == jobs else (f"of {jobs} jobs {there} are there",)
            return Run(figures | _costs(meter, jobs), wrong=wrong)

    return measure


def _mappings(size: Size) -> list[dict[str, Any]]:
    text = kinds.text_of(size.payload)
    return [{"n": n, "text": text} for n in range(size.jobs)]


def _jobs(size: Size) -> list[NewJob]:
    text = kinds.text_of(size.payload)
    return [kinds.noop.new(n, text) for n in range(size.jobs)]


def _json(size: Size) -> list[str]:
    text = kinds.text_of(size.payload)
    return [raw.args_of(n, text) for n in range(size.jobs)]


def _enqueue_many(database: Database, mappings: list[dict[str, Any]]) -> None:
    with Client(database.dsn) as client:
        kinds.noop.enqueue_many(client, mappings)


def _load(database: Database, jobs: list[NewJob]) -> None:
    with Client(database.dsn) as client:
        client.load(jobs)


def _raw_insert(database: Database, args: list[str]) -> None:
    with psycopg.connect(database.dsn) as connection:
        for start in range(0, len(args), baseline.CHUNK):
            chunk = args[start : start + baseline.CHUNK]
            connection.execute(baseline.INSERT_MANY, (["bench.noop"] * len(chunk), chunk)).fetchall()


def _raw_copy(database: Database, args: list[str]) -> None:
    with psycopg.connect(database.dsn) as connection, connection.cursor().copy(baseline.COPY) as copy:
        for one in args:
            copy.write_row(("bench.noop", one))


TIMES_LOADED = 10

BULK = Scenario(
    number=6,
    name="bulk",
    measures=f"enqueue_many, and load of {TIMES_LOADED} times as many, each in one call with its connection; beside "
    "INSERT from unnest in the same chunks, and COPY",
    cases=(
        Case("enqueue_many", bulk(_mappings, _enqueue_many)),
        Case("unnest, raw", bulk(_json, _raw_insert)),
        Case("load", bulk(_jobs, _load, TIMES_LOADED)),
        Case("COPY, raw", bulk(_json, _raw_copy, TIMES_LOADED)),
    ),
    targets=(
        Target("enqueue_many", RATE, ">=", 0.8, over=("unnest, raw", RATE)),
        Target("load", RATE, ">=", 0.7, over=("COPY, raw", RATE)),
    ),
    full=Size(jobs=100_000),
    small=Size(jobs=1_000),
)
