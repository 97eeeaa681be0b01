"""`howdah worker --processes N`: crashes, stops and refusals of real workers under their supervisor."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from howdah import Client, JobState
from howdah.embedded.processes import is_alive
from tests.journey import kinds
from tests.journey.conftest import HOWDAH, Process, howdah
from tests.journey.test_crashes import began, open_gate
from tests.supervise.test_health import get
from tests.support.held import wait_until

Start = Callable[..., Process]
WORKER = ("worker", "-m", "tests.journey.kinds", "--poll", "0.2")


@pytest.fixture
def start(journey: str, conn: psycopg.Connection, tmp_path: Path) -> Iterator[Start]:
    """Start a supervisor; its two workers have registered when this returns."""
    started: list[Process] = []

    def start_supervisor(*arguments: str) -> Process:
        supervisor = Process([*HOWDAH, *WORKER, "--processes", "2", *arguments], journey, tmp_path / "log")
        started.append(supervisor)
        wait_until(lambda: len(workers(conn)) == 2, 20, what="the workers to register")
        return supervisor

    yield start_supervisor
    for supervisor in started:
        supervisor.end()
    wait_until(lambda: not any(map(is_alive, pids_ever(conn))), 10, what="the end of all workers")


def workers(conn: psycopg.Connection) -> dict[int, str]:
    """The names of the registered workers by their pids."""
    return dict(conn.execute("SELECT pid, worker FROM howdah.workers").fetchall())


def pids_ever(conn: psycopg.Connection) -> set[int]:
    return {pid for (pid,) in conn.execute("SELECT pid FROM howdah.workers UNION SELECT pid FROM public.traces")}


def test_each_has_a_name_and_a_stop_ends_all_of_them(start: Start, conn: psycopg.Connection) -> None:
    supervisor = start()
    found = workers(conn)
    assert len(set(found.values())) == 2
    assert supervisor.pid not in found
    supervisor.signal(signal.SIGTERM)
    assert supervisor.wait() == 0, supervisor.log
    assert workers(conn) == {}
    assert not any(map(is_alive, found))


@pytest.mark.parametrize("crash", ["SIGKILL", "os._exit"])
def test_a_crash_is_that_of_one_and_the_others_work_on(
    crash: str, start: Start, journey: str, conn: psycopg.Connection
) -> None:
    start("-q", "default:1")
    with Client(journey) as client:
        job = kinds.patient.enqueue(client, "g")
        wait_until(lambda: began(conn), what="the job to begin")
        row = conn.execute("SELECT pid FROM public.traces").fetchone()
        assert row is not None
        (other,) = set(workers(conn)) - {row[0]}
        if crash == "SIGKILL":
            os.kill(other, signal.SIGKILL)
        else:
            kinds.poison.options(max_attempts=1).enqueue(client)  # or its next attempt might take the first one
        wait_until(lambda: not is_alive(other), what="the crash")
        wait_until(lambda: len([p for p in workers(conn) if is_alive(p)]) == 2, 20, what="the next one")
        open_gate(conn)
        after = client.wait(job.id, 10)
    assert (after.state, after.attempt) == (JobState.COMPLETED, 1)
    assert is_alive(row[0])


def test_a_stop_waits_for_what_has_begun_and_ends_in_time_when_that_hangs(
    start: Start, journey: str, conn: psycopg.Connection
) -> None:
    supervisor = start("--grace", "1")
    with Client(journey) as client:
        job = kinds.block_for_gate.enqueue(client, "never")
        wait_until(lambda: began(conn), what="the job to begin")
        asked = time.monotonic()
        supervisor.signal(signal.SIGTERM)
        supervisor.wait(10)
        assert 1.0 < time.monotonic() - asked < 3.2
        assert client.get(job.id).attempt == 1


def test_no_worker_runs_on_when_the_supervisor_is_killed(start: Start, journey: str, conn: psycopg.Connection) -> None:
    supervisor = start()
    pids = set(workers(conn))
    with Client(journey) as client:
        job = kinds.wait_for_gate.enqueue(client, "g")
        wait_until(lambda: began(conn), what="the job to begin")
        supervisor.process.kill()
        wait_until(lambda: len(workers(conn)) == 1, what="the idle one to stop")
        open_gate(conn)
        assert client.wait(job.id, 10).attempt == 1
    wait_until(lambda: not any(map(is_alive, pids)), what="the end of the workers")
    assert workers(conn) == {}


def test_its_health_is_that_of_all(start: Start, conn: psycopg.Connection) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start("--health-port", str(port))
    wait_until(lambda: get(port, "/readyz")[0] == 200, what="all to be ready")
    status, body = get(port, "/healthz")
    assert (status, {each["pid"] for each in body["processes"]}) == (200, set(workers(conn)))
    stopped = next(iter(workers(conn)))
    os.kill(stopped, signal.SIGSTOP)
    try:
        status, body = get(port, "/healthz")
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert (status, [each["pid"] for each in body["processes"] if each["status"] is None]) == (503, [stopped])


def test_what_no_restart_mends_ends_the_supervisor(
    journey: str, fresh_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOWDAH_PROCESSES", "2")
    missing = howdah(journey, "worker", "-m", "no.such.module")
    assert (missing.returncode, missing.stderr.count("no such module here")) == (2, 2)
    broken = howdah(journey, "worker", "-m", "tests.client.signatures")
    assert (broken.returncode, "defines no kind" in broken.stderr) == (2, True)
    behind = howdah(fresh_dsn, *WORKER)
    assert (behind.returncode, "howdah migrate" in behind.stderr) == (3, True)
    away = howdah("host=/nowhere dbname=x", *WORKER)
    assert (away.returncode, "giving up" in away.stderr) == (1, True)
