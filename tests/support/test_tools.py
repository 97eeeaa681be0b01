from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from tests.support.databases import database, empty
from tests.support.held import Connect, background, held, together, wait_until, wait_until_blocked
from tests.support.servers import NoServer, Server, choose


@pytest.fixture
def dsn(fresh_dsn: str) -> str:
    """These tests need no schema."""
    return fresh_dsn


def test_a_held_lock_blocks_the_other_until_the_block_ends(conn: Connection[Any], connect: Connect) -> None:
    conn.execute("CREATE TABLE t AS SELECT 1 AS n")
    other = connect()
    with held(connect) as holder:
        holder.execute("UPDATE t SET n = 2")
        waiting = background(lambda: other.execute("UPDATE t SET n = n * 10"))
        wait_until_blocked(conn, other.info.backend_pid)
        assert not waiting.done
    waiting.result()
    assert conn.execute("SELECT n FROM t").fetchone() == (20,)


def test_waiting_for_a_lock_that_nobody_wants_fails_and_tells_what_the_backend_does(
    conn: Connection[Any], connect: Connect
) -> None:
    other = connect()
    with pytest.raises(TimeoutError, match=r"waits for no lock .*idle"):
        wait_until_blocked(conn, other.info.backend_pid, timeout=0.05)


def test_a_connection_stuck_in_a_thread_does_not_keep_a_test_from_ending(
    conn: Connection[Any], connect: Connect
) -> None:
    conn.execute("SELECT pg_advisory_lock(1)")
    other = connect()
    background(lambda: other.execute("SELECT pg_advisory_lock(1)"))
    wait_until_blocked(conn, other.info.backend_pid)


def test_a_background_call_raises_where_its_result_is_asked_for() -> None:
    failing = background(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failing.result()
    assert isinstance(failing.error(), ZeroDivisionError)


def test_a_background_call_that_does_not_end_is_not_waited_for_for_ever() -> None:
    gate = threading.Event()
    waiting = background(gate.wait)
    with pytest.raises(TimeoutError):
        waiting.result(timeout=0.01)
    gate.set()
    assert waiting.result()


def test_calls_start_together_and_each_gives_its_result_or_error() -> None:
    barrier = threading.Barrier(2)  # breaks unless both run at once

    def fail() -> int:
        barrier.wait(5)
        raise LookupError

    meeting, error = together(lambda: barrier.wait(5), fail)
    assert meeting in (0, 1)
    assert isinstance(error, LookupError)


def test_a_condition_that_stays_false_fails_and_is_named() -> None:
    with pytest.raises(TimeoutError, match=r"waited 0\.01 s for rain"):
        wait_until(lambda: False, timeout=0.01, what="rain")


def test_a_condition_returns_what_made_it_true() -> None:
    values = iter([0, 0, 7])
    assert wait_until(lambda: next(values)) == 7


def test_emptying_spares_the_record_of_the_schema_and_the_sequences(conn: Connection[Any], dsn: str) -> None:
    conn.execute("""
        CREATE SCHEMA howdah;
        CREATE TABLE howdah.schema_version AS SELECT 1 AS version;
        CREATE TABLE howdah.jobs (id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY);
        CREATE TABLE howdah."Odd name" (job_id bigint REFERENCES howdah.jobs);
        CREATE TABLE howdah.history (day date) PARTITION BY RANGE (day);
        CREATE TABLE howdah.history_all PARTITION OF howdah.history DEFAULT;
        INSERT INTO howdah.jobs DEFAULT VALUES;
        INSERT INTO howdah."Odd name" VALUES (1);
        INSERT INTO howdah.history VALUES (now());
    """)
    empty(dsn)
    counted = """
        SELECT (SELECT count(*) FROM howdah.jobs), (SELECT count(*) FROM howdah."Odd name"),
               (SELECT count(*) FROM howdah.history), (SELECT count(*) FROM howdah.schema_version)
    """
    assert conn.execute(counted).fetchone() == (0, 0, 0, 1)
    assert conn.execute("INSERT INTO howdah.jobs DEFAULT VALUES RETURNING id").fetchone() == (2,)


def test_a_database_is_dropped_although_somebody_is_connected(server: Server) -> None:
    with database(server) as name:
        forgotten = psycopg.connect(server.dsn_for(name))
    with pytest.raises(psycopg.OperationalError):
        forgotten.execute("SELECT 1")
    forgotten.close()


def test_a_copy_has_what_its_template_has(server: Server) -> None:
    with database(server) as template:
        with psycopg.connect(server.dsn_for(template)) as conn:
            conn.execute("CREATE TABLE t ()")
        with database(server, template=template) as name, psycopg.connect(server.dsn_for(name)) as conn:
            assert conn.execute("SELECT to_regclass('t')").fetchone() == ("t",)


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({"HOWDAH_TEST_SERVER": "dsn"}, "HOWDAH_TEST_DSN is not set"),
        ({"HOWDAH_TEST_SERVER": "docker", "DOCKER_HOST": "unix:///nowhere"}, "no Docker engine answers"),
        ({"HOWDAH_TEST_SERVER": "postgres"}, "it is one of auto, dsn"),
    ],
)
def test_a_server_that_is_asked_for_and_not_there_is_an_error(environ: dict[str, str], reason: str) -> None:
    with pytest.raises(NoServer, match=reason):
        choose(environ)


def test_a_docker_engine_is_one_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind("docker.sock")
        engine.listen()

        def answer() -> None:
            client, _ = engine.accept()
            with client:
                client.recv(1024)
                client.sendall(b"HTTP/1.0 200 OK\r\n\r\nOK")

        answering = background(answer)
        source = choose({"DOCKER_HOST": "unix://docker.sock"})
        answering.result()
    assert source.name == "docker"
