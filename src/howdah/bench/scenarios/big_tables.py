"""Millions of jobs, of which only a few matter now."""

from __future__ import annotations

import time
from collections.abc import Callable

from howdah import Client
from howdah.bench import backlog, kinds
from howdah.bench.drain import workers
from howdah.bench.figures import percentile
from howdah.bench.ledger import Ledgers
from howdah.bench.place import Bench, Database
from howdah.bench.result import Run, Size
from howdah.bench.sampling import wait_for
from howdah.bench.scenario import Case, Scenario
from howdah.bench.target import Target

KIND = "bench.held"  # whatever holds one gives it back
FINISHED, HELD = 5.0, 0.1  # times the available ones; as many again are scheduled
DAYS = 20
CLAIMS, LIMIT = 200, 20
SLOTS = 10
HOURS = 6 * 3600.0  # no lease of a claim here ends before the scenario does
DUE = 100

DAYS_OF_HISTORY = (
    "SELECT howdah.ensure_partition((now() AT TIME ZONE 'UTC')::date - day) FROM generate_series(1, %s) day"
)
HISTORY = """
INSERT INTO howdah.history (id, run_at, created_at, claimed_at, finished_at, attempt, excused, max_attempts, crashes,
    settled_attempt, priority, state, kind, queue, worker, settled_by, settled_event, args, headers, tags, errors)
SELECT -n, f.at, f.at, f.at, f.at, 1, 0, 10, 0, 1, 0, 'completed', 'bench.old', 'default', 'gone', 'worker', 'complete',
    jsonb_build_object('n', n, 'text', %s::text), '{}', '{}', '[]'
FROM generate_series(1, %s) AS n, LATERAL (SELECT now() - make_interval(secs => 86400.0 * %s * n / %s) AS at) f
"""
SCHEDULED = """
INSERT INTO howdah.jobs (kind, state, run_at, args)
SELECT 'bench.later', 'scheduled', now() + make_interval(days => 1, secs => n),
    jsonb_build_object('n', n, 'text', %s::text)
FROM generate_series(1, %s) AS n
"""
RUNNING = """
INSERT INTO howdah.jobs (kind, state, attempt, claimed_at, lease_expires_at, worker, args)
SELECT 'bench.long', 'running', 1, now(), now() + interval '12 hours', 'elsewhere',
    jsonb_build_object('n', n, 'text', %s::text)
FROM generate_series(1, %s) AS n
"""
NOW_DUE = """
INSERT INTO howdah.jobs (kind, queue, state, run_at, args)
SELECT 'bench.due', 'due', 'scheduled', now() - interval '1 second', '{}' FROM generate_series(1, %s)
"""
TOUCHED = """
SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint,
    coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint
FROM pg_stat_user_tables WHERE schemaname = 'howdah' AND (relname = 'jobs' OR relname LIKE 'history%')
"""
BACKENDS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""


def filling(size: Size) -> Callable[[Database], None]:
    """A database as it is after a long life; `size.jobs` are available."""

    def fill(database: Database) -> None:
        text, finished = kinds.text_of(size.payload), int(FINISHED * size.jobs)
        database.watch.execute(DAYS_OF_HISTORY, (DAYS,))
        database.watch.execute(HISTORY, (text, finished, DAYS, finished))
        database.watch.execute(RUNNING, (text, int(HELD * size.jobs)))
        database.watch.execute(SCHEDULED, (text, size.jobs))
        database.watch.execute("VACUUM (ANALYZE) howdah.history")
        backlog.fill(database, KIND, size.jobs, size.payload)

    return fill


def _big(bench: Bench, size: Size) -> Database:
    return bench.kept("big", filling(size))


def claims_among_millions(bench: Bench, size: Size) -> Run:
    """One claim after the other, each timed."""
    return _claims(_big(bench, size), size)


def claims_alone(bench: Bench, size: Size) -> Run:
    """The same where there is nothing but these jobs."""
    with bench.database() as database:
        backlog.fill(database, KIND, _rounds(size) * LIMIT, size.payload)
        return _claims(database, size)


def _rounds(size: Size) -> int:
    return min(CLAIMS, size.jobs // (LIMIT * 5))  # so that what is available suffices for all runs


def _claims(database: Database, size: Size) -> Run:
    seconds, short = [], 0
    with Client(database.dsn) as client:
        client.resume("default")  # connect now
        for _ in range(_rounds(size)):
            began = time.perf_counter()
            jobs = client.claim(limit=LIMIT, worker="bench", lease=HOURS)
            seconds.append(time.perf_counter() - began)
            short += len(jobs) != LIMIT
    figures = {"claim_p50_ms": 1000 * percentile(seconds, 50), "claim_p95_ms": 1000 * percentile(seconds, 95)}
    return Run(figures, wrong=(f"{short} claims did not give {LIMIT} jobs",) if short else ())


def start(bench: Bench, size: Size) -> Run:
    """A worker's first job; what it holds then goes back as it stops."""
    database = _big(bench, size)
    with bench.folder() as folder:
        ledgers = Ledgers(folder, size.jobs)
        began = time.monotonic()
        with workers(database, ledgers, {"default": SLOTS}, moments=True, grace=0.1) as crew:
            crew.ready()
            opened = time.monotonic()
            crew.go()
            wait_for(ledgers.ran, crew.complaint)
            first = min(ledgers.moments().values())
    return Run({"start_to_first_job_seconds": first - began, "open_to_first_job_seconds": first - opened})


def sweep(bench: Bench, size: Size) -> Run:
    """One pass, with a few jobs due: what it read and wrote."""
    database = _big(bench, size)
    database.watch.execute(NOW_DUE, (DUE,))
    before = _touched(database)
    with Client(database.dsn) as client:
        client.resume("default")  # connect now
        began = time.perf_counter()
        swept = client.sweep()
        seconds = time.perf_counter() - began
    wait_for(lambda: not database.one(BACKENDS), lambda: "the sweep's connection to close")
    read, written = (now - then for now, then in zip(_touched(database), before, strict=True))
    figures = {"sweep_ms": 1000 * seconds, "sweep_rows_read": read, "sweep_rows_beyond_due": written - DUE}
    wrong = () if swept.get("promoted") == DUE else (f"{DUE} jobs were due, the sweep says {dict(swept)}",)
    return Run(figures, wrong=wrong)


def _touched(database: Database) -> tuple[float, float]:
    database.watch.execute("SELECT pg_stat_force_next_flush()")
    row = database.watch.execute(TOUCHED).fetchone()
    assert row is not None
    return float(row[0]), float(row[1])


BIG_TABLES = Scenario(
    number=10,
    name="big",
    measures="claims, a worker's start and a sweep among 1 available, 1 scheduled, 5 finished and 0.1 running times "
    "the jobs of the size; beside claims where there is nothing else",
    cases=(
        Case("claims among millions", claims_among_millions),
        Case("claims alone", claims_alone),
        Case("worker start", start),
        Case("sweep", sweep),
    ),
    targets=(
        Target("claims among millions", "claim_p95_ms", "<=", 2.0, over=("claims alone", "claim_p95_ms")),
        Target("worker start", "start_to_first_job_seconds", "<=", 1.0),
        Target("sweep", "sweep_rows_beyond_due", "<=", 0),
    ),
    full=Size(jobs=1_000_000),
    small=Size(jobs=2_000),
)
