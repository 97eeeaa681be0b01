"""`howdah migrate`, `Client.migrate` and the runner behind them."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql

from howdah import AsyncClient, Client
from howdah.migrations import SCHEMA_VERSION, applied_version, migrate, script
from howdah.model.errors import HowdahError
from tests.migrations.catalogue import catalogue
from tests.migrations.doors import howdah, run


@pytest.fixture
def dsn(fresh_dsn: str) -> str:
    return fresh_dsn


def test_the_second_run_does_nothing(dsn: str) -> None:
    assert migrate(dsn) == [1]
    before = catalogue(dsn)
    assert migrate(dsn) == []
    assert catalogue(dsn) == before


def test_the_command_says_what_it_did(dsn: str) -> None:
    first, second = howdah("migrate", dsn=dsn), howdah("migrate", dsn=dsn)
    assert (first.exit_code, first.stdout) == (0, "migrated to version 1\n")
    assert (second.exit_code, second.stdout) == (0, "nothing to do\n")


def test_the_check_exits_3_until_the_schema_is_there_and_touches_nothing(dsn: str, conn: psycopg.Connection) -> None:
    missing = howdah("migrate", "--check", dsn=dsn)
    assert (missing.exit_code, missing.stderr[-20:]) == (3, "Run: howdah migrate\n")
    assert conn.execute("SELECT to_regnamespace('howdah')").fetchone() == (None,)
    migrate(dsn)
    assert howdah("migrate", "--check", dsn=dsn).exit_code == 0
    conn.execute("UPDATE howdah.schema_version SET version = 0")
    assert howdah("migrate", "--check", dsn=dsn).exit_code == 3


def test_the_printed_sql_makes_the_same_schema_as_the_runner(dsn: str, cloned_dsn: str) -> None:
    printed = run("howdah", "migrate", "--sql")
    assert (printed.returncode, printed.stdout) == (0, script())
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(printed.stdout.encode())
    assert catalogue(dsn) == catalogue(cloned_dsn)


def test_the_printed_sql_is_one_transaction(dsn: str, conn: psycopg.Connection) -> None:
    broken = script().replace("COMMIT;", "SELECT 1 / 0; COMMIT;")
    with pytest.raises(psycopg.errors.DivisionByZero):
        conn.execute(broken.encode())
    conn.execute("ROLLBACK")
    assert conn.execute("SELECT to_regnamespace('howdah')").fetchone() == (None,)


def test_clients_migrate(dsn: str, conn: psycopg.Connection) -> None:
    with Client(dsn) as client:
        client.migrate()
        client.migrate()
        assert client.enqueue("a", {}).created
    assert applied_version(conn) == SCHEMA_VERSION


async def _migrate_async(dsn: str) -> bool:
    async with AsyncClient(dsn) as client:
        await client.migrate()
        await client.migrate()
        return (await client.enqueue("a", {})).created


def test_async_clients_migrate(dsn: str) -> None:
    import asyncio

    assert asyncio.run(_migrate_async(dsn))


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_a_role_whose_transactions_are_stricter_migrates(dsn: str, conn: psycopg.Connection, level: str) -> None:
    database = sql.Identifier(conn.info.dbname)
    conn.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_isolation = {}").format(database, level))
    with psycopg.connect(dsn) as stricter:
        stricter.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
        assert migrate(stricter) == [1]
        assert stricter.isolation_level is psycopg.IsolationLevel.SERIALIZABLE
    assert howdah("migrate", dsn=dsn).stdout == "nothing to do\n"
    with Client(dsn) as client:
        assert client.claim_job(client.enqueue("a", {}).id, worker="w").attempt == 1


def test_an_empty_schema_of_that_name_is_used(dsn: str, conn: psycopg.Connection, cloned_dsn: str) -> None:
    conn.execute("CREATE SCHEMA howdah")
    assert migrate(dsn) == [1]
    assert catalogue(dsn) == catalogue(cloned_dsn)


def test_a_failed_migration_leaves_nothing(dsn: str, conn: psycopg.Connection) -> None:
    conn.execute("CREATE SCHEMA howdah; CREATE TABLE howdah.audit ()")
    with pytest.raises(HowdahError, match="does not know it; nothing was changed"):
        migrate(dsn)
    assert applied_version(conn) == 0
    assert conn.execute("SELECT to_regclass('howdah.jobs')").fetchone() == (None,)


def test_the_script_prints_no_rows(fresh_dsn: str) -> None:
    with psycopg.connect(fresh_dsn, autocommit=True) as conn:
        cursor = conn.execute(script().encode())
        assert cursor.description is None
        while cursor.nextset():
            assert cursor.description is None


def test_a_version_that_this_release_does_not_know_is_refused_as_usage() -> None:
    refused = howdah("migrate", "--to", "2")
    assert refused.exit_code == 2
    assert "knows versions up to 1" in refused.stderr
