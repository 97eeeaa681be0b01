"""Ten replicas of a service start at the same moment, and each migrates first."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from howdah.migrations import SCHEMA_VERSION, applied_version, migrate
from howdah.migrations.steps import LOCK, step
from tests.migrations.doors import run
from tests.support.held import Connect, background, held, together, wait_until_blocked

MIGRATORS = 10
ROUNDS_IN_THREADS = 47
ROUNDS_IN_PROCESSES = 3


@pytest.fixture
def dsn(fresh_dsn: str) -> str:
    return fresh_dsn


def test_ten_migrators_at_once_all_succeed_and_one_of_them_writes(dsn: str, conn: psycopg.Connection) -> None:
    for _ in range(ROUNDS_IN_THREADS):
        applied = together(*[lambda: migrate(dsn)] * MIGRATORS)
        assert sorted(applied, key=str) == [[1], *[[]] * (MIGRATORS - 1)]
        assert _ledger(conn) == [(SCHEMA_VERSION,)]
        conn.execute("DROP SCHEMA howdah CASCADE")


def test_a_session_that_has_looked_before_the_race_sees_what_another_has_done(dsn: str, connect: Connect) -> None:
    with held(connect) as first:
        second = connect()
        assert applied_version(second) == 0  # PostgreSQL remembers in the session that there was no such table
        first.execute(LOCK.encode())
        waiting = background(lambda: migrate(second))
        wait_until_blocked(connect(), second.info.backend_pid)
        for statement in step(1):
            first.execute(statement.encode())
    assert waiting.result() == []


def test_ten_processes_of_howdah_migrate_at_once_all_succeed(dsn: str, conn: psycopg.Connection) -> None:
    process: Callable[[], str] = lambda: _succeed(dsn)  # noqa: E731
    for _ in range(ROUNDS_IN_PROCESSES):
        said = together(*[process] * MIGRATORS, timeout=60)
        assert sorted(said, key=str) == ["migrated to version 1\n", *["nothing to do\n"] * (MIGRATORS - 1)]
        assert _ledger(conn) == [(SCHEMA_VERSION,)]
        conn.execute("DROP SCHEMA howdah CASCADE")


def _succeed(dsn: str) -> str:
    done = run("howdah", "migrate", dsn=dsn)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _ledger(conn: psycopg.Connection) -> list[tuple[int]]:
    return conn.execute("SELECT version FROM howdah.schema_version").fetchall()
