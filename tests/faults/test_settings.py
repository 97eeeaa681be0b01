"""Roles and databases with settings that nobody would choose, and databases that change under a worker."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from howdah import Client, Unreachable
from howdah.model.job import WorkerInfo
from howdah.store.drivers import on_psycopg
from howdah.store.operation import Operation
from howdah.store.source import PooledSource
from howdah.worker import leasekeeper
from tests.faults import kinds
from tests.faults.conftest import all_completed, working
from tests.support.held import wait_until
from tests.support.servers import Server

HOSTILE = {
    "statement_timeout": "200ms",
    "lock_timeout": "50ms",
    "idle_in_transaction_session_timeout": "1s",
    "idle_session_timeout": "500ms",
    "default_transaction_isolation": "serializable",
    "datestyle": "German",
    "intervalstyle": "iso_8601",
    "timezone": "Asia/Kathmandu",
    "search_path": "pg_temp",
    "bytea_output": "escape",
    "standard_conforming_strings": "off",
    "client_encoding": "LATIN1",
    "extra_float_digits": "-10",
}
EFFECTS = "CREATE TABLE public.effects (job_id bigint)"


def _set(dsn: str, name: str, value: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        database = sql.Identifier(str(conninfo_to_dict(dsn)["dbname"]))
        connection.execute(
            sql.SQL("ALTER DATABASE {} SET {} = {}").format(database, sql.Identifier(name), sql.Literal(value))
        )


def _end_all(server: Server, dsn: str) -> None:
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [_name(dsn)])


def _name(dsn: str) -> str:
    return str(conninfo_to_dict(dsn)["dbname"])


@pytest.mark.parametrize("name", HOSTILE)
def test_a_setting_of_the_role_or_database_breaks_nothing(cloned_dsn: str, name: str) -> None:
    with psycopg.connect(cloned_dsn, autocommit=True) as connection:
        connection.execute(EFFECTS)
    _set(cloned_dsn, name, HOSTILE[name])
    with working(cloned_dsn), Client(cloned_dsn) as client:
        running = kinds.hold_shortly.enqueue(client, "g")
        wait_until(lambda: kinds.ran[running.id], what="a job to run")
        ids = [kind.enqueue(client).id for kind in (kinds.note, kinds.write, kinds.write_blocking) for _ in range(3)]
        later = kinds.note.options(delay=0.1, key="k").enqueue(client)
        all_completed(cloned_dsn, [*ids, later.id])
        claimed = client.claim(["other"], worker="w")
        assert claimed == []
        kinds.gate("g").set()
        all_completed(cloned_dsn, [running.id])
        assert client.get(running.id).created_at.tzinfo is not None
    assert kinds.ran[running.id] == 1


def test_a_lock_that_is_held_for_long_delays_a_report_and_loses_nothing(cloned_dsn: str) -> None:
    _set(cloned_dsn, "lock_timeout", "50ms")
    with working(cloned_dsn), Client(cloned_dsn) as client, psycopg.connect(cloned_dsn) as holder:
        running = kinds.hold.enqueue(client, "g")
        wait_until(lambda: kinds.ran[running.id], what="a job to run")
        holder.execute("SELECT 1 FROM howdah.jobs WHERE id = %s FOR UPDATE", [running.id])
        kinds.gate("g").set()
        all_completed(cloned_dsn, [kinds.note.enqueue(client).id])
        holder.commit()
        all_completed(cloned_dsn, [running.id])
    assert kinds.ran[running.id] == 1


def test_sockets_to_a_node_that_takes_no_writes_are_left_for_the_primary(
    server: Server, cloned_dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    with psycopg.connect(cloned_dsn, autocommit=True) as connection:
        connection.execute(EFFECTS)
    with working(cloned_dsn), Client(cloned_dsn) as client:
        kinds.write.enqueue(client)
        _set(cloned_dsn, "default_transaction_read_only", "on")
        _end_all(server, cloned_dsn)  # as a demotion does; new sockets lead to a "standby"
        wait_until(lambda: "takes no writes" in _refusal(client), what="the client to be told")
        with psycopg.connect(cloned_dsn, autocommit=True) as connection:
            wait_until(lambda: "session is read-only" in caplog.text, what="the worker to be told")
            connection.execute("SET default_transaction_read_only = off")
            connection.execute(sql.SQL("ALTER DATABASE {} RESET ALL").format(sql.Identifier(_name(cloned_dsn))))
        all_completed(cloned_dsn, [kind.enqueue(client).id for kind in (kinds.note, kinds.write, kinds.write_blocking)])


def _refusal(client: Client) -> str:
    with pytest.raises(Unreachable) as refused:
        client.enqueue("note", {})
    return str(refused.value)


def test_a_database_made_anew_under_a_worker_learns_its_kinds(
    server: Server, template: str, cloned_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leasekeeper, "BEAT", 0.2)
    with working(cloned_dsn):
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            name = sql.Identifier(_name(cloned_dsn))
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
            admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, sql.Identifier(template)))
        with Client(cloned_dsn) as client, psycopg.connect(cloned_dsn, autocommit=True) as connection:
            known = "SELECT 1 FROM howdah.kinds WHERE kind = 'note' AND lease = 2"
            wait_until(lambda: connection.execute(known).fetchone(), what="the kinds to be registered")
            made = kinds.note.enqueue(client)
            all_completed(cloned_dsn, [made.id])


class Failing:
    """Runs that fail at the second statement of an operation."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._execute = on_psycopg(connection)

    async def run(self, operation: Operation[Any]) -> Any:
        operation.send(self._execute(next(operation)))
        raise Unreachable("gone")


def test_what_a_claim_got_first_is_kept_when_it_fails_later(dsn: str, conn: psycopg.Connection[Any]) -> None:
    with Client(dsn) as client:
        client.enqueue("k", {}, expires_in=0.001)  # met too late, so that the claim goes on behind it
        made = client.enqueue("k", {})
        source = PooledSource(dsn, slots=1, queues=["default"])
        source._runs = Failing(conn)
        source._worker = WorkerInfo("w", "h", 1, "0", {"default": 1})
        assert [each.id for each in asyncio.run(source.claim({"default": 5}, 5))] == [made.id]
