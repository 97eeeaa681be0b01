"""A database whose schema is missing, older or newer: every door says so, with the command to run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psycopg
import pytest

from howdah import AsyncClient, Client, SchemaMismatch
from howdah.migrations import migrate
from tests.migrations.doors import howdah

SPOIL = {
    "missing": ("DROP SCHEMA howdah CASCADE", None, "howdah is missing here. Run: howdah migrate"),
    "emptied": ("DELETE FROM howdah.schema_version", None, "Run: howdah migrate"),
    "older": (
        "UPDATE howdah.schema_version SET version = 0",
        0,
        "version 0, this release needs 1. Run: howdah migrate",
    ),
    "newer": (
        "INSERT INTO howdah.schema_version VALUES (3, DEFAULT, DEFAULT, 'howdah', '9')",
        3,
        "version 3, this release knows 1. Run: pip install --upgrade howdah",
    ),
}


@pytest.fixture
def dsn(cloned_dsn: str) -> str:
    return cloned_dsn


@pytest.fixture(params=SPOIL.values(), ids=SPOIL.keys())
def spoilt(request: pytest.FixtureRequest, conn: psycopg.Connection) -> tuple[int | None, str]:
    statement, found, message = request.param
    conn.execute(statement)
    return found, message


def test_a_client_says_so(spoilt: tuple[int | None, str], dsn: str) -> None:
    with Client(dsn) as client:
        _says_so(spoilt, lambda: client.enqueue("a", {}))
        _says_so(spoilt, lambda: client.claim(worker="w"))  # and goes on saying so


def test_an_async_client_says_so(spoilt: tuple[int | None, str], dsn: str) -> None:
    async def enqueue() -> None:
        async with AsyncClient(dsn) as client:
            await client.enqueue("a", {})

    _says_so(spoilt, lambda: asyncio.run(enqueue()))


@pytest.mark.parametrize(
    "command", [["enqueue", "a"], ["jobs", "list"], ["jobs", "show", "1"], ["sweep"]], ids=" ".join
)
def test_a_command_says_so_and_exits_3(spoilt: tuple[int | None, str], dsn: str, command: list[str]) -> None:
    ended = howdah(*command, dsn=dsn)
    assert ended.exit_code == 3
    assert spoilt[1] in ended.stderr
    assert ended.stdout == ""


def test_a_client_that_was_told_works_once_the_schema_is_there(dsn: str, conn: psycopg.Connection) -> None:
    conn.execute("DROP SCHEMA howdah CASCADE")
    with Client(dsn) as client:
        with pytest.raises(SchemaMismatch):
            client.enqueue("a", {})
        client.migrate()
        assert client.enqueue("a", {}).created


def test_migrating_a_newer_database_is_refused(dsn: str, conn: psycopg.Connection) -> None:
    conn.execute(SPOIL["newer"][0].encode())
    with pytest.raises(SchemaMismatch, match="pip install --upgrade howdah"):
        migrate(dsn)
    assert howdah("migrate", dsn=dsn).exit_code == 3


def _says_so(spoilt: tuple[int | None, str], call: Callable[[], object]) -> None:
    found, message = spoilt
    with pytest.raises(SchemaMismatch) as error:
        call()
    assert (error.value.found, error.value.needed) == (found, 1)
    assert message in str(error.value)
