from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from howdah.embedded import AlreadyRunning, Binaries, EmbeddedServer, NotRunning, StartFailed
from howdah.embedded.processes import is_alive
from tests.embedded.conftest import as_root


def ask(dsn: str, query: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as conn:
        return conn.execute(query).fetchone()


def tell(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(statement)


def host(server: EmbeddedServer) -> Path:
    return Path(str(conninfo_to_dict(server.dsn)["host"]))


@pytest.fixture(scope="module")
def running(binaries: Binaries) -> Iterator[EmbeddedServer]:
    """A server for the tests that only ask."""
    with EmbeddedServer(binaries=binaries, durable=False) as server:
        yield server


def test_it_takes_connections_and_tells_its_version(running: EmbeddedServer) -> None:
    assert ask(running.dsn, "SHOW server_version")[0].startswith(running.version)
    assert ask(running.dsn_for("template1"), "SELECT current_database()") == ("template1",)


def test_its_databases_are_utf8_and_sort_by_code_point(running: EmbeddedServer) -> None:
    assert ask(running.dsn, "SHOW server_encoding") == ("UTF8",)
    assert ask(running.dsn, "SELECT 'Z' < 'a', upper('é')") == (True, "É")


@as_root
def test_root_starts_it_as_nobody(running: EmbeddedServer) -> None:
    status = Path(f"/proc/{running.pid}/status").read_text()
    identity = {line.split()[0]: set(line.split()[1:]) for line in status.splitlines()}
    assert identity["Uid:"] == {"65534"}
    assert identity["Groups:"] == set()


def test_only_its_owner_reaches_its_socket_and_nobody_a_port(running: EmbeddedServer) -> None:
    assert stat.S_IMODE(host(running).stat().st_mode) == 0o700
    assert ask(running.dsn, "SHOW listen_addresses") == ("",)


@pytest.mark.parametrize(("durable", "value"), [(True, "on"), (False, "off")])
def test_it_is_durable_unless_told_otherwise(durable: bool, value: str) -> None:
    with EmbeddedServer(durable=durable) as server:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            assert ask(server.dsn, f"SHOW {setting}") == (value,)


def test_settings_of_the_caller_win() -> None:
    settings = {"synchronous_commit": "local", "work_mem": "5MB"}
    with EmbeddedServer(durable=False, settings=settings) as server:
        assert ask(server.dsn, "SHOW synchronous_commit") == ("local",)
        assert ask(server.dsn, "SHOW work_mem") == ("5MB",)


def test_over_tcp_it_asks_for_the_generated_password(binaries: Binaries) -> None:
    with EmbeddedServer(binaries=binaries, durable=False, tcp=True) as server:
        assert ask(server.dsn, "SELECT inet_server_addr() = '127.0.0.1'") == (True,)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(server.dsn, password="wrong")
        password = str(conninfo_to_dict(server.dsn)["password"])
        assert password not in repr(server)
        assert password not in server.log.read_text()


def test_temporary_data_is_gone_after_the_stop() -> None:
    with EmbeddedServer(durable=False) as server:
        pid, folder = server.pid, host(server)
    assert not is_alive(pid)
    assert not folder.exists()


def test_kept_data_is_there_at_the_next_start(binaries: Binaries, folder: Path) -> None:
    data = folder / "not there yet" / "it's data"
    with EmbeddedServer(data, binaries=binaries) as server:
        tell(server.dsn, "CREATE TABLE kept ()")
    with EmbeddedServer(data, binaries=binaries) as server:
        assert ask(server.dsn, "SELECT to_regclass('kept')") == ("kept",)


def test_after_a_kill_it_recovers_at_the_same_address(binaries: Binaries) -> None:
    with EmbeddedServer(binaries=binaries) as server:
        dsn, pid = server.dsn, server.pid
        with psycopg.connect(dsn, autocommit=True) as conn:
            conn.execute("CREATE TABLE kept ()")
            backend = conn.info.backend_pid
            server.kill()
            assert not is_alive(pid)
            assert not is_alive(backend)
            with pytest.raises(psycopg.OperationalError):
                conn.execute("SELECT 1")
        server.start()
        assert server.dsn == dsn
        assert ask(dsn, "SELECT to_regclass('kept')") == ("kept",)
        assert "not properly shut down" in server.log.read_text()


def test_a_killed_server_leaves_nothing_after_the_stop() -> None:
    server = EmbeddedServer(durable=False).start()
    folder = host(server)
    server.kill()
    server.stop()
    assert not folder.exists()


@pytest.mark.parametrize("tcp", [False, True])
def test_a_restart_keeps_data_and_address(tcp: bool) -> None:
    with EmbeddedServer(tcp=tcp) as server:
        dsn, pid = server.dsn, server.pid
        tell(dsn, "CREATE TABLE kept ()")
        server.restart()
        assert server.pid != pid
        assert server.dsn == dsn
        assert ask(dsn, "SELECT to_regclass('kept')") == ("kept",)


def test_a_stop_does_not_wait_for_clients() -> None:
    with EmbeddedServer(durable=False) as server, psycopg.connect(server.dsn) as conn:
        conn.execute("SELECT 1")
        server.stop()
        with pytest.raises(psycopg.OperationalError):
            conn.execute("SELECT 1")


def test_data_of_a_live_server_is_refused(folder: Path) -> None:
    with EmbeddedServer(folder / "data", durable=False) as first:
        second = EmbeddedServer(folder / "data")
        with pytest.raises(AlreadyRunning, match=f"pid {first.pid} ") as refused:
            second.start()
        assert refused.value.pid == first.pid
        assert ask(first.dsn, "SELECT 1") == (1,)
        with pytest.raises(AlreadyRunning):
            first.start()


def test_data_of_a_dead_server_is_taken(binaries: Binaries, folder: Path) -> None:
    first = EmbeddedServer(folder / "data", binaries=binaries, durable=False).start()
    first.kill()
    assert (folder / "data" / "postmaster.pid").exists()
    with EmbeddedServer(folder / "data", binaries=binaries, durable=False) as second:
        assert ask(second.dsn, "SELECT 1") == (1,)
    first.stop()


def test_a_failed_start_shows_the_log_and_leaves_nothing(binaries: Binaries, folder: Path) -> None:
    server = EmbeddedServer(folder / "data", binaries=binaries, settings={"shared_buffers": "plenty"})
    with pytest.raises(StartFailed, match='invalid value for parameter "shared_buffers"'):
        server.start()
    assert list(folder.iterdir()) == [folder / "data"]
    with pytest.raises(NotRunning):
        _ = server.dsn


def test_a_start_that_takes_too_long_is_given_up(folder: Path) -> None:
    server = EmbeddedServer(folder / "data", durable=False, start_timeout=-1)
    with pytest.raises(StartFailed, match="was not ready in -1 s"):
        server.start()
    assert not (folder / "data" / "postmaster.pid").exists()


def test_what_is_not_running_says_so() -> None:
    server = EmbeddedServer()
    for wanted in ("dsn", "pid", "log"):
        with pytest.raises(NotRunning, match=r"call start\(\) first"):
            getattr(server, wanted)
    server.stop()


@as_root
def test_roots_own_temporary_folder_may_be_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with EmbeddedServer(durable=False) as server:
        assert ask(server.dsn, "SELECT 1") == (1,)


def test_the_variables_of_the_client_do_not_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGDATA", os.devnull)
    with EmbeddedServer(durable=False) as server:
        assert ask(server.dsn, "SHOW port") == ("5432",)
