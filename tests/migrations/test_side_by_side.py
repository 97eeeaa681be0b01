"""A rolling upgrade: the workers of two releases on either schema, under load, while it is migrated."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from howdah import Client
from howdah.migrations import applied_version
from tests.migrations.doors import ROOT, howdah
from tests.migrations.rolling import Release, next_release
from tests.migrations.rolling_jobs import LEDGER, awaited, flaky, once, threaded
from tests.support.held import wait_until

TROUBLE = re.compile(r"WARNING|ERROR|CRITICAL|Traceback")
PHASE = 15  # jobs that every worker completes before the next thing happens
LONG = 60.0


@pytest.fixture
def dsn(cloned_dsn: str) -> str:
    return cloned_dsn


@pytest.fixture
def releases(dsn: str, tmp_path: Path) -> Iterator[tuple[Release, Release]]:
    (tmp_path / "next").mkdir()
    (tmp_path / "logs").mkdir()
    old = Release(ROOT / "src", dsn, tmp_path / "logs")
    new = Release(next_release(tmp_path / "next"), dsn, tmp_path / "logs")
    yield old, new
    old.kill()
    new.kill()


@contextmanager
def enqueuing(dsn: str) -> Iterator[list[int]]:
    """Jobs come all the time, until the block ends; gives their ids."""
    ids: list[int] = []
    errors: list[BaseException] = []
    end = threading.Event()

    def enqueue() -> None:
        numbers = itertools.count()
        with Client(dsn) as client, psycopg.connect(dsn, autocommit=True) as conn:
            while not end.wait(0.02):
                n = next(numbers)
                many = threaded.enqueue_many(client, [{"n": n} for _ in range(3)])
                ids.extend(made.id for made in many)
                ids.append(awaited.options(key=f"{n}").enqueue(client, n).id)
                ids.append(once.enqueue(conn, n).id)
                ids.append(flaky.options(subject=f"{n}").enqueue(client, n).id)
                ids.append(conn.execute("SELECT howdah.enqueue('awaited', '{\"n\": 1}')").fetchone()[0])  # type: ignore[index]

    def noting() -> None:
        try:
            enqueue()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=noting)
    thread.start()
    try:
        yield ids
    finally:
        end.set()
        thread.join()
    assert errors == []


def one(conn: psycopg.Connection[Any], query: str, *params: Any) -> Any:
    row = conn.execute(query.encode(), params).fetchone()
    assert row is not None
    return row[0]


def all_work(conn: psycopg.Connection[Any], pids: list[int]) -> None:
    """Wait until each of these workers has completed some jobs from now on."""
    now = one(conn, "SELECT clock_timestamp()")
    query = """
        SELECT count(*) FROM (
            SELECT pid FROM public.ledger WHERE at > %s AND pid = ANY (%s) GROUP BY pid HAVING count(*) >= %s
        ) busy
    """
    wait_until(lambda: one(conn, query, now, pids, PHASE) == len(pids), LONG, what=f"work of {pids}")


def test_a_rolling_upgrade_loses_nothing_and_nobody_complains(
    dsn: str, conn: psycopg.Connection[Any], releases: tuple[Release, Release]
) -> None:
    old, new = releases
    conn.execute(LEDGER)
    with enqueuing(dsn) as ids:
        workers = old.start(2)
        all_work(conn, workers)
        workers += new.start(2)
        all_work(conn, workers)  # both on the older schema
        assert new.run("migrate") == "migrated to version 2\n"
        all_work(conn, workers)  # both on the newer one, and as they were
        assert old.run("migrate").startswith("nothing to do: version 2 is newer than this release's 1")
        workers += old.start(1)
        all_work(conn, workers)  # an older one even starts there
        assert old.stop() == [0, 0, 0]
        all_work(conn, workers[2:4])
    wait_until(lambda: one(conn, "SELECT count(*) FROM howdah.jobs") == 0, LONG, what="the last jobs")
    assert new.stop() == [0, 0]
    complaints = [line for line in (old.logged() + new.logged()).splitlines() if TROUBLE.search(line)]
    assert complaints == []
    _nothing_is_lost(conn, ids)


def _nothing_is_lost(conn: psycopg.Connection[Any], ids: list[int]) -> None:
    assert applied_version(conn) == 2
    assert one(conn, "SELECT count(*) FROM howdah.history WHERE id = ANY (%s)", ids) == len(set(ids)) == len(ids)
    assert conn.execute("SELECT DISTINCT state FROM howdah.history").fetchall() == [("completed",)]
    recorded = "SELECT count(DISTINCT job), count(*) FROM public.ledger"
    finished = one(conn, "SELECT count(*) FROM howdah.history")
    assert conn.execute(recorded).fetchone() == (finished, finished)
    conn.execute("SELECT howdah.ensure_partition(current_date + 40)")
    # A worker that stops gives back what it has not begun, excused.
    charged = "SELECT count(*) FROM howdah.history WHERE attempt - excused > CASE kind WHEN 'flaky' THEN 2 ELSE 1 END"
    assert one(conn, charged) == 0


def test_each_release_refuses_a_schema_that_is_two_versions_away(
    dsn: str, conn: psycopg.Connection[Any], releases: tuple[Release, Release]
) -> None:
    old, _ = releases
    for version, works in ((1, True), (2, True), (3, False)):
        conn.execute("UPDATE howdah.schema_version SET version = %s", [version])
        assert howdah("migrate", "--check", dsn=dsn).exit_code == (0 if works else 3)
        assert howdah("jobs", "list", dsn=dsn).exit_code == (0 if works else 3)
    new = releases[1]
    conn.execute("UPDATE howdah.schema_version SET version = 1")
    assert new.run("jobs", "list", "-o", "json").strip() == "[]"
    assert old.path != new.path
