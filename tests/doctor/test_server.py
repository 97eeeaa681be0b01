"""Findings about the server, the way to it, and who holds vacuum back."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from howdah.diagnosis import Finding, Limits, Severity
from howdah.diagnosis.server_rules import horizon, unreachable
from howdah.embedded import EmbeddedServer
from howdah.migrations import migrate
from howdah.store.diagnosis import diagnose
from tests.doctor.conftest import ask, only
from tests.support.held import Connect
from tests.support.roles import apply, login

REPEATABLE_READ = psycopg.IsolationLevel.REPEATABLE_READ


@pytest.fixture(scope="module")
def odd_dsn() -> Iterator[str]:
    """A server with prepared transactions and logical slots, and without autovacuum."""
    settings = {"max_prepared_transactions": "2", "wal_level": "logical", "autovacuum": "off", "track_counts": "off"}
    with EmbeddedServer(durable=False, settings=settings) as server:
        migrate(server.dsn)
        yield server.dsn


def _unreached(dsn: str) -> Finding:
    (finding,) = diagnose(dsn)
    assert (finding.id, finding.severity) == ("reachable", Severity.PROBLEM)
    assert "hunter2" not in repr(finding)
    return finding


def test_nothing_listens(dsn: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        assert "nothing listens" in _unreached(f"host=127.0.0.1 port={port} dbname=x user=u password=hunter2").title
    assert "nothing listens" in _unreached("host=/nowhere dbname=x password=hunter2").title


def test_no_such_host_database_or_user(dsn: str) -> None:
    assert "resolved" in _unreached("host=no.such.host.invalid dbname=x password=hunter2").title
    found = _unreached(make_conninfo(dsn, dbname="nowhere"))
    assert ("no such database" in found.title, found.facts["dbname"]) == (True, "nowhere")
    assert "refuses this user" in _unreached(make_conninfo(dsn, user="nobody_here", password="hunter2")).title


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ('connection failed: FATAL:  password authentication failed for user "u"', "refuses this user"),
        ("FATAL:  the database system is starting up", "starting or stopping"),
        ("FATAL:  sorry, too many clients already", "no connection left"),
        ("connection timeout expired", "nobody answers"),
        ("server does not support SSL, but SSL was required", "no encrypted connection"),
        ("something new", "the connection fails"),
        ("", "the connection fails"),
    ],
)
def test_what_the_driver_says_is_understood(message: str, why: str) -> None:
    assert why in unreachable(message, {}).title


def test_the_oldest_transaction_is_named_with_its_statement(dsn: str, connect: Connect) -> None:
    old = connect(autocommit=False, application_name="nightly report")
    old.isolation_level = REPEATABLE_READ
    old.execute("SELECT 'the report' FROM howdah.jobs")
    assert ask(dsn) == {}
    found = only(ask(dsn, old_transaction=0), "horizon", Severity.WARNING)
    assert (found.facts["name"], found.facts["application"], found.facts["state"]) == (
        str(old.info.backend_pid),
        "nightly report",
        "idle in transaction",
    )
    assert "the report" in found.facts["statement"]
    assert f"pg_terminate_backend({old.info.backend_pid})" in found.advice
    old.rollback()
    assert ask(dsn, old_transaction=0) == {}


def test_a_transaction_that_holds_nothing_back_is_not_named(dsn: str, connect: Connect) -> None:
    idle = connect(autocommit=False)
    idle.execute("SELECT 1")  # at READ COMMITTED: no snapshot is left
    assert ask(dsn, old_transaction=0) == {}


def test_a_prepared_transaction_and_a_slot_hold_vacuum_back(odd_dsn: str) -> None:
    with psycopg.connect(odd_dsn, autocommit=True) as conn:
        conn.execute("SELECT pg_create_logical_replication_slot('forgotten', 'pgoutput')")
        conn.execute("BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'it''s'")
        try:
            found = {
                finding.facts["holder"]: finding for finding in ask(odd_dsn, old_transaction=0, old_xids=0)["horizon"]
            }
        finally:
            conn.execute("ROLLBACK PREPARED 'it''s'")
            conn.execute("SELECT pg_drop_replication_slot('forgotten')")
    assert "ROLLBACK PREPARED 'it''s';" in found["prepared"].advice
    assert "pg_drop_replication_slot('forgotten')" in found["slot"].advice
    assert "horizon" not in ask(odd_dsn, old_transaction=0, old_xids=0)


def test_a_server_without_autovacuum(odd_dsn: str) -> None:
    found = only(ask(odd_dsn), "autovacuum", Severity.PROBLEM)
    assert "autovacuum and track_counts off" in found.title


def test_without_a_superuser_a_stranger_s_statement_is_hidden(own: psycopg.Connection[Any]) -> None:
    dsn = own.info.dsn
    apply(dsn)
    with login(dsn, "howdah_worker") as worker, psycopg.connect(dsn) as old:
        old.isolation_level = REPEATABLE_READ
        old.execute("SELECT 'secret'")
        old.execute("SELECT pg_current_xact_id()")
        own.execute("SELECT pg_current_xact_id()")
        found = only(ask(worker, old_xids=1), "horizon", Severity.WARNING)
        assert "secret" not in repr(found)
        assert (found.facts["name"], "pg_monitor" in found.advice) == (str(old.info.backend_pid), True)


def test_a_clock_that_is_off(own: psycopg.Connection[Any]) -> None:
    own.execute("CREATE OR REPLACE FUNCTION howdah.clock() RETURNS timestamptz LANGUAGE sql AS "
                "$$SELECT clock_timestamp() + interval '90 seconds'$$")  # fmt: skip
    found = only(ask(own.info.dsn), "clock", Severity.WARNING)
    assert "90 s behind" in found.title
    assert found.facts["offset_seconds"] == pytest.approx(90, abs=2)


def test_settings_that_lose_what_was_acknowledged(own: psycopg.Connection[Any]) -> None:
    _set(own, "synchronous_commit", "off")
    found = next(finding for finding in diagnose(own.info.dsn) if finding.id == "durability")
    assert (found.severity, found.facts["synchronous_commit"]) == (Severity.WARNING, "off")


def test_read_only_by_default(own: psycopg.Connection[Any]) -> None:
    _set(own, "default_transaction_read_only", "on")
    found = only(ask(own.info.dsn), "read-only", Severity.PROBLEM)
    assert "default_transaction_read_only" in found.advice


def test_a_standby() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the server may run as another user, who cannot enter pytest's folders
        data = Path(folder, "data")
        with EmbeddedServer(data, durable=False) as server:
            migrate(server.dsn)
        (data / "standby.signal").touch()
        with EmbeddedServer(data, durable=False) as server:
            found = only(ask(server.dsn), "read-only", Severity.PROBLEM)
    assert "standby" in found.title


def test_a_query_on_a_standby_is_named() -> None:
    row = dict.fromkeys(("username", "state", "seconds", "statement"))
    standby = {**row, "holder": "standby", "name": "4711", "application": "replica", "xids": 2_000_000}
    (found,) = horizon([standby, {**standby, "xids": 10}], Limits())
    assert ("replica" in found.title, found.facts["xids"]) == (True, 2_000_000)


def test_no_room_for_connections_and_old_transaction_ids(dsn: str) -> None:
    assert "connections are in use" in only(ask(dsn, connections=0), "connections", Severity.WARNING).title
    assert "2,000,000,000" in only(ask(dsn, wraparound=0), "wraparound", Severity.WARNING).title


def test_the_doctor_writes_nothing(dsn: str, conn: psycopg.Connection[Any]) -> None:
    def is_next() -> Any:
        return conn.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())").fetchone()

    def wrote() -> bool:
        before = is_next()
        diagnose(dsn)
        return bool(is_next() != before)

    assert not all(wrote() for _ in range(5))  # an id may have gone to autovacuum


def _set(own: psycopg.Connection[Any], name: str, value: str) -> None:
    database = sql.Identifier(str(conninfo_to_dict(own.info.dsn)["dbname"]))
    own.execute(sql.SQL("ALTER DATABASE {} SET {} = {}").format(database, sql.Identifier(name), value))
