"""The demo as a story: enqueue, work, kill, rescue, and look whether the promises held."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg

from howdah import Client, HowdahError
from howdah.demo import files, jobs, ledger
from howdah.demo.check import check_ends, check_files, check_parcels, check_story
from howdah.demo.crew import Crew
from howdah.embedded import EmbeddedServer

WORKERS = 3
PARCELS = range(1, 5)
REVISIONS = range(1, 6)
PATIENCE = 60.0


class NothingToDo(HowdahError):
    """The folder has no files."""


Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the demo is."""

    files: int
    done: int
    leased: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Summary:
    """What happened. `problems` is empty when the check held."""

    files: int
    jobs: int
    attempts: int
    seconds: float
    undisturbed: float  # files per second among those that no killed worker held
    killed: int
    restarts: int
    rescued: int
    unknown: int
    resolved: int
    superseded: int
    discarded: int
    problems: tuple[str, ...]


def play(root: Path | None, tell: Tell, show: Callable[[Progress], None]) -> Summary:
    """Run the whole demo on an embedded PostgreSQL of its own, and give what happened."""
    root, paths = files.find(root)
    if not paths:
        raise NothingToDo(f"{root} has no files to read: name a folder that has some")
    with tempfile.TemporaryDirectory(prefix="howdah-demo-") as folder:
        os.environ |= {"HOWDAH_DEMO_ROOT": str(root), "HOWDAH_DEMO_FOLDER": folder}
        with EmbeddedServer() as server, (Path(folder) / "workers.log").open("wb") as log:
            began = time.monotonic()
            tell(f"PostgreSQL {server.version} is up, with durable settings")
            os.environ["HOWDAH_DSN"] = server.dsn
            with Client(server.dsn) as client, psycopg.connect(server.dsn, autocommit=True) as watch:
                client.migrate()
                _enqueue(client, watch, paths)
                tell(f"{len(paths)} files of {root}, {len(PARCELS)} parcels, {len(REVISIONS)} revisions, 1 poison job")
                with Crew(WORKERS, {}, log.fileno()) as crew:
                    tell(f"{crew.size} worker processes")
                    _work(watch, crew, len(paths), tell, show)
                    return _summarise(watch, crew, root, paths, time.monotonic() - began)


def _enqueue(client: Client, watch: psycopg.Connection, paths: list[str]) -> None:
    watch.execute("CREATE TABLE demo_files (path text, size bigint, lines bigint, sha256 text, attempt integer)")
    with watch.transaction():
        jobs.measure_file.enqueue_many(watch, [{"path": path} for path in paths])
        jobs.ship.enqueue_many(watch, [{"parcel": parcel} for parcel in PARCELS])
        jobs.poison.enqueue(watch)
    for revision in REVISIONS:
        jobs.publish.options(subject="the report").enqueue(client, revision)


def _work(watch: psycopg.Connection, crew: Crew, total: int, tell: Tell, show: Callable[[Progress], None]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        now = _progress(watch, total)
        show(now)
        if not crew.killed and now.done * 2 >= total and (pid := _holder_of_parcels(watch)) and crew.kill(pid):
            tell(f"half of the files are done: kill -9 of worker {pid}, which holds parcels")
            ledger.open_gate()
        crew.tend()
        if _all_ended(watch):
            show(_progress(watch, total))
            return
        time.sleep(0.02)


def _progress(watch: psycopg.Connection, total: int) -> Progress:
    row = watch.execute(
        "SELECT (SELECT count(*) FROM demo_files), count(*) FILTER (WHERE state = 'running'),"
        " count(*) FILTER (WHERE state = 'unknown') FROM howdah.jobs"
    ).fetchone()
    assert row is not None
    return Progress(total, *row)


def _holder_of_parcels(watch: psycopg.Connection) -> int | None:
    row = watch.execute(
        "SELECT w.pid FROM howdah.lease_status l JOIN howdah.workers w USING (worker)"
        " WHERE l.kind = 'demo.ship' AND l.started_at IS NOT NULL LIMIT 1"
    ).fetchone()
    return row[0] if row else None


def _all_ended(watch: psycopg.Connection) -> bool:
    return watch.execute("SELECT 1 FROM howdah.jobs LIMIT 1").fetchone() is None


def _summarise(watch: psycopg.Connection, crew: Crew, root: Path, paths: list[str], seconds: float) -> Summary:
    counts = watch.execute(
        "SELECT count(*), sum(attempt), sum(crashes), count(*) FILTER (WHERE state = 'superseded'),"
        " count(*) FILTER (WHERE state = 'discarded'), count(*) FILTER (WHERE kind = 'demo.reconcile'),"
        " (SELECT count(*) FROM howdah.audit WHERE action = 'resolve') FROM howdah.all_jobs"
    ).fetchone()
    rate = watch.execute(
        "SELECT count(*) / nullif(extract(epoch FROM max(finished_at) - min(claimed_at)), 0)::float8"
        " FROM howdah.history WHERE kind = 'demo.measure' AND crashes = 0"
    ).fetchone()
    assert counts is not None
    assert rate is not None
    total, attempts, rescued, superseded, discarded, unknown, resolved = map(int, counts)
    return Summary(
        files=len(paths),
        jobs=total,
        attempts=attempts,
        seconds=seconds,
        undisturbed=rate[0] or 0.0,
        killed=len(crew.killed),
        restarts=crew.restarts,
        rescued=rescued,
        unknown=unknown,
        resolved=resolved,
        superseded=superseded,
        discarded=discarded,
        problems=(
            *check_ends(watch),
            *check_files(watch, root, paths),
            *check_parcels(PARCELS),
            *check_story(len(crew.killed), unknown, resolved, superseded, discarded),
        ),
    )
