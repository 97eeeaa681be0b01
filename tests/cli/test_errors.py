"""An error says what to do next, in the words of a command line."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.cli.conftest import Howdah


@pytest.mark.parametrize(
    ("given", "why", "advice"),
    [
        ({"host": "127.0.0.1", "port": "1"}, "nothing listens there", "Check host and port"),
        ({"dbname": "nowhere"}, "there is no such database", "createdb"),
        ({"user": "nobody_here"}, "the server refuses this user", "pg_hba.conf"),
        ({"host": "no.such.host.invalid"}, "the host's name cannot be resolved", "DNS"),
    ],
)
@pytest.mark.parametrize("command", [("jobs", "list"), ("sweep",), ("migrate",)], ids=" ".join)
def test_no_connection_is_explained_as_by_the_doctor(
    howdah: Howdah, dsn: str, given: dict[str, str], why: str, advice: str, command: tuple[str, ...]
) -> None:
    ran = howdah(*command, on=make_conninfo(dsn, **given, password="hunter2"))
    said, next_step = ran.err.splitlines()
    assert (ran.status, said.startswith(f"howdah: cannot reach PostgreSQL: {why} (")) == (1, True)
    assert next_step.startswith("  → ")
    assert advice in next_step
    assert "hunter2" not in ran.err


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("foo", "dsn: cannot be read: write postgresql://user@host"),
        ("postgresql://localhost:port/shop", "dsn: a port is a number"),
        ("host=localhost port=0", "dsn: a port is a number"),
        ("mysql://localhost", "dsn 'mysql://…': is not PostgreSQL"),
        ("", "dsn: say where PostgreSQL is"),
    ],
)
def test_a_dsn_that_cannot_be_one_is_a_usage_error(howdah: Howdah, dsn: str, said: str) -> None:
    ran = howdah("jobs", "list", on=dsn)
    assert (ran.status, ran.err.startswith(f"howdah: {said}")) == (2, True), ran.err


def test_migrate_check_speaks_json(howdah: Howdah, fresh_dsn: str) -> None:
    assert howdah("migrate", "--check", "-o", "json").json == {"version": 1, "needed": 1, "fine": True}
    ran = howdah("migrate", "--check", "-o", "json", on=fresh_dsn)
    assert (ran.status, ran.json["version"], ran.json["fine"]) == (3, 0, False)


def test_a_schema_that_the_ledger_does_not_know_is_not_touched(howdah: Howdah, cloned_dsn: str) -> None:
    with psycopg.connect(cloned_dsn, autocommit=True) as conn:
        conn.execute("DELETE FROM howdah.schema_version")
        ran = howdah("migrate", on=cloned_dsn)
        assert (ran.status, "DROP SCHEMA howdah CASCADE" in ran.err) == (1, True)
        assert conn.execute("SELECT count(*) FROM howdah.schema_version").fetchone() == (0,)


def test_the_module_that_may_be_meant_is_named(howdah: Howdah, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("tests/docs")
    for name in ("shop/jobs.py", "shop.nope", "shop.jbos"):
        assert "did you mean 'shop.jobs'" in howdah("worker", "-m", name).err
