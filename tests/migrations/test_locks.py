"""A migration that has to wait for a lock does not make the workers wait behind it."""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg
import pytest

from howdah import Client
from howdah.migrations import applied_version, migrate, runner
from howdah.migrations.steps import ledger_entry, statements
from tests.migrations.doors import howdah
from tests.migrations.rolling import STEP
from tests.support.held import Connect, background, held

TRIES = 4
LONG = "SELECT pg_sleep(0.2)"  # as long as an index takes
QUEUED = 1.0  # seconds: a claim may wait for one try of 100 ms, on a busy machine


@pytest.fixture
def dsn(cloned_dsn: str) -> str:
    return cloned_dsn


@pytest.fixture(autouse=True)
def tries(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """There is a second version; gives how often it was tried to apply."""
    counted = 0

    def step(version: int) -> tuple[str, ...]:
        nonlocal counted
        counted += 1
        return (*statements(STEP.read_text()), LONG, ledger_entry(version, "howdah"))

    monkeypatch.setattr(runner, "step", step)
    return lambda: counted


def test_claims_go_on_while_a_migration_waits_for_a_long_reader(
    dsn: str, connect: Connect, tries: Callable[[], int]
) -> None:
    longest = claims = 0
    with Client(f"{dsn} options='-c lock_timeout=5s'") as client:
        with held(connect) as reader:
            reader.execute("SELECT count(*) FROM howdah.jobs")
            migrating = background(lambda: migrate(dsn, to=2))
            while tries() < TRIES:
                client.enqueue("a", {})
                began = time.monotonic()
                claims += len(client.claim(worker="w"))
                longest = max(longest, time.monotonic() - began)
            assert not migrating.done
        assert migrating.result() == [2]
    assert longest < QUEUED
    assert claims >= TRIES
    assert applied_version(connect()) == 2


def test_a_migration_gives_up_in_the_end_and_says_who_is_in_its_way(dsn: str, connect: Connect) -> None:
    with held(lambda: connect(application_name="nightly report")) as reader:
        reader.execute("SELECT count(*) FROM howdah.jobs")
        with pytest.raises(TimeoutError) as error:
            migrate(dsn, to=2, patience=0.3)
        said = (
            f"(pid {reader.info.backend_pid}, application 'nightly report', idle in transaction: SELECT count(*) FROM"
        )
        assert said in str(error.value)
        assert str(error.value).endswith("run again later: howdah migrate")
        assert applied_version(connect()) == 1


def test_the_command_exits_1_then(dsn: str, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "PATIENCE", 0.0)
    connect().execute("UPDATE howdah.schema_version SET version = 0")
    with held(connect) as reader:
        reader.execute("SELECT count(*) FROM howdah.jobs")
        ended = howdah("migrate", dsn=dsn)
    assert ended.exit_code == 1
    assert "nothing was changed" in ended.stderr


def test_the_settings_of_a_session_do_not_cut_a_migration_and_stay_as_they_were(dsn: str, connect: Connect) -> None:
    with psycopg.connect(dsn, autocommit=True, options="-c statement_timeout=150 -c lock_timeout=9s") as conn:
        assert migrate(conn, to=2) == [2]
        assert conn.execute("SHOW statement_timeout").fetchone() == ("150ms",)
        assert conn.execute("SHOW lock_timeout").fetchone() == ("9s",)
