"""Setting the roles up: what is printed, who may run it, and what it needs."""

from __future__ import annotations

import psycopg
import pytest
from click.testing import CliRunner
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from howdah import Client
from howdah.cli import main
from howdah.migrations import migrate, roles_script
from tests.support.databases import database
from tests.support.roles import apply, login
from tests.support.servers import choose
from tests.surface.role_operations import OWNER, PRODUCER


def test_the_command_prints_it_without_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOWDAH_DSN", raising=False)
    printed = CliRunner().invoke(main, ["migrate", "--roles"])
    assert (printed.exit_code, printed.output) == (0, roles_script())
    assert CliRunner().invoke(main, ["migrate", "--roles", "--check"]).exit_code == 2


def test_without_the_schema_nothing_happens(fresh_dsn: str) -> None:
    with (
        psycopg.connect(fresh_dsn, autocommit=True) as conn,
        pytest.raises(psycopg.errors.InvalidSchemaName) as refused,
    ):
        conn.execute(roles_script().encode())
    assert "howdah migrate" in str(refused.value.diag.message_hint)


def test_an_owner_with_createrole_sets_the_roles_up_and_goes_on_migrating() -> None:
    """No superuser: neither for the schema nor for the roles, which must not be there yet. So it has its own server."""
    source = choose()
    if source.name == "dsn":
        pytest.skip("the roles of this server are not ours to drop")
    with source.started() as server, database(server) as name:
        admin_dsn = server.dsn_for(name)
        with login(admin_dsn, options="CREATEROLE") as owner_dsn:
            _may_create(admin_dsn, owner_dsn)
            assert migrate(owner_dsn) == [1]
            apply(owner_dsn)
            apply(owner_dsn)
            with psycopg.connect(owner_dsn, autocommit=True) as conn:
                conn.execute("ALTER TABLE howdah.jobs ADD later integer")
                conn.execute("CREATE TABLE howdah.later (n integer)")
                apply(owner_dsn)
                owner = conn.execute("SELECT relowner::regrole::text FROM pg_class WHERE relname = 'later'").fetchone()
            assert owner == (OWNER,)
            with Client(owner_dsn) as client:
                client.enqueue("k", {}, key="k", subject="s")
            with login(admin_dsn, PRODUCER) as producer, Client(producer) as client:
                client.enqueue("k", {}, subject="s")


def _may_create(admin_dsn: str, dsn: str) -> None:
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        names = (str(conninfo_to_dict(admin_dsn)["dbname"]), str(conninfo_to_dict(dsn)["user"]))
        admin.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(*map(sql.Identifier, names)))
