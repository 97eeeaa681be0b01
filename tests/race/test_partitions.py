"""History's partitions: neither a reader nor the pruner nor a missing day stops completions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import Connection
from psycopg_pool import ConnectionPool

from howdah import AsyncClient, Client
from howdah.model.job import JobState
from howdah.store import sweeping
from tests.support.held import background, together, wait_until_blocked
from tests.support.jobs import lease_of, make_job, run

OLD = "date '2020-02-02'"
DAYS = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'howdah.history'::regclass"


@pytest.fixture
def conn(cloned_dsn: str) -> Iterator[Connection[Any]]:
    with psycopg.connect(cloned_dsn, autocommit=True, options="-c lock_timeout=2s") as conn:
        yield conn


@contextmanager
def reading(dsn: str) -> Iterator[Connection[Any]]:
    """Somebody who has read all jobs, and has gone for lunch in his transaction."""
    with psycopg.connect(dsn) as reader:
        reader.execute("SELECT count(*) FROM howdah.all_jobs")
        yield reader


def complete_one(client: Client, conn: Connection[Any]) -> JobState:
    return client.complete(lease_of(conn, make_job(conn, "running")))


def drop_all_days(conn: Connection[Any]) -> None:
    days = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'howdah.history'::regclass"
    for (day,) in conn.execute(days).fetchall():
        conn.execute(f"DROP TABLE {day}")


@pytest.mark.parametrize("filled", [True, False])
def test_a_reader_who_keeps_the_pruner_waiting_does_not_keep_completions_waiting(
    cloned: Client, cloned_dsn: str, conn: Connection[Any], filled: bool
) -> None:
    conn.execute(f"SELECT howdah.ensure_partition({OLD})")
    if filled:
        make_job(conn, "completed", finished_at="2020-02-02 12:00+00")
    before = conn.execute(DAYS).fetchone()
    with psycopg.connect(cloned_dsn, autocommit=True) as pruner, reading(cloned_dsn):
        pruning = background(lambda: run(pruner, sweeping._prune_history(86_400)))
        wait_until_blocked(conn, pruner.info.backend_pid)
        assert complete_one(cloned, conn) is JobState.COMPLETED
        assert isinstance(pruning.error(), psycopg.errors.LockNotAvailable)  # it gives up by itself
        cloned.sweep()
        assert conn.execute(DAYS).fetchone() == before
    assert cloned.sweep()["pruned"] == (2 if filled else 1)
    assert conn.execute("SELECT to_regclass('howdah.history_20200202')").fetchone() == (None,)


def test_a_day_is_made_beside_an_open_reader_and_does_not_stop_completions(
    cloned: Client, cloned_dsn: str, conn: Connection[Any]
) -> None:
    with reading(cloned_dsn):
        conn.execute(f"SELECT howdah.ensure_partition({OLD})")
        assert complete_one(cloned, conn) is JobState.COMPLETED
    lease = lease_of(conn, make_job(conn, "running"))
    with conn.transaction():
        conn.execute(f"SELECT howdah.ensure_partition({OLD} + 1)")
        assert cloned.complete(lease) is JobState.COMPLETED  # while the day's transaction is open


def test_ten_at_once_make_the_same_day_once(cloned_dsn: str, conn: Connection[Any]) -> None:
    connections = [psycopg.connect(cloned_dsn, autocommit=True) for _ in range(10)]
    try:
        for day in range(3):
            make = f"SELECT howdah.ensure_partition({OLD} + {day})"
            answers = together(*(partial(c.execute, make) for c in connections))
            assert not [answer for answer in answers if isinstance(answer, BaseException)]
    finally:
        for connection in connections:
            connection.close()


def test_days_are_utc_days_whatever_the_sessions_time_zone(conn: Connection[Any]) -> None:
    for day, zone in enumerate(("Pacific/Kiritimati", "America/Los_Angeles", "UTC")):
        conn.execute(f"SET TIME ZONE '{zone}'")
        conn.execute(f"SELECT howdah.ensure_partition({OLD} + {day})")
    conn.execute("SET TIME ZONE 'UTC'")
    bounds = """
        SELECT pg_get_expr(relpartbound, oid) FROM pg_class
        WHERE relname LIKE 'history_202002%' AND relkind = 'r' ORDER BY relname
    """
    assert [bound for (bound,) in conn.execute(bounds)] == [
        f"FOR VALUES FROM ('2020-02-{day:02} 00:00:00+00') TO ('2020-02-{day + 1:02} 00:00:00+00')" for day in (2, 3, 4)
    ]


@pytest.mark.parametrize("source", ["dsn", "pool", "engine"])
@pytest.mark.parametrize("level", ["read committed", "repeatable read"])
def test_a_completion_makes_the_day_that_it_misses(
    cloned_dsn: str, conn: Connection[Any], source: str, level: str
) -> None:
    conn.execute(f"ALTER DATABASE {conn.info.dbname} SET default_transaction_isolation = '{level}'")
    job = make_job(conn, "running")
    with ConnectionPool(cloned_dsn, min_size=1, open=True) as pool:
        engine = sa.create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(cloned_dsn))
        with Client({"dsn": cloned_dsn, "pool": pool, "engine": engine}[source]) as client:
            lease = lease_of(conn, job)
            drop_all_days(conn)
            assert client.complete(lease) is JobState.COMPLETED
        engine.dispose()
    assert conn.execute(DAYS).fetchone() == (16,)


async def complete_async(dsn: str, job: Any) -> JobState:
    async with AsyncClient(dsn) as client:
        return await client.complete(job)


@pytest.mark.parametrize("level", ["read committed", "serializable"])
def test_an_awaited_completion_makes_the_day_that_it_misses(cloned_dsn: str, conn: Connection[Any], level: str) -> None:
    conn.execute(f"ALTER DATABASE {conn.info.dbname} SET default_transaction_isolation = '{level}'")
    lease = lease_of(conn, make_job(conn, "running"))
    drop_all_days(conn)
    assert asyncio.run(complete_async(cloned_dsn, lease)) is JobState.COMPLETED


def test_a_completion_in_a_users_transaction_meets_the_day_that_was_missing(
    cloned: Client, cloned_dsn: str, conn: Connection[Any]
) -> None:
    lease = lease_of(conn, make_job(conn, "running"))
    drop_all_days(conn)
    with psycopg.connect(cloned_dsn) as user:
        assert cloned.complete(lease, on=user) is JobState.COMPLETED


def test_sweeping_makes_the_days_to_come_first(cloned: Client, conn: Connection[Any]) -> None:
    job = make_job(conn, "running", lease_expired=True, max_attempts=1)
    drop_all_days(conn)
    assert cloned.sweep()["discarded"] == 1
    assert conn.execute("SELECT state FROM howdah.history WHERE id = %s", [job]).fetchone() == ("discarded",)
