"""A worker's process ends in time after SIGTERM, whatever its handlers do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from howdah import Client
from tests.support.held import wait_until

GRACE = 0.5
IN_TIME = GRACE + 2
BUSY_MACHINE = 1.0  # what these tests allow on top, since others run beside them
TOP = Path(__file__).parents[2]


class Started:
    def __init__(self, dsn: str, log: Path) -> None:
        self._log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.app.handlers_that_hang", str(GRACE)],
                cwd=TOP,
                env={**os.environ, "HOWDAH_DSN": dsn},
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def began(self, how: str) -> bool:
        return f"began {how}" in self._log.read_text()

    def stopped_in(self, *, signals: int = 1) -> float:
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        if signals > 1:
            wait_until(lambda: time.monotonic() - began > 0.6, what="a second wish to be one")
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)
        return time.monotonic() - began


@pytest.fixture
def started(dsn: str, tmp_path: Path) -> Iterator[Started]:
    one = Started(dsn, tmp_path / "log")
    yield one
    with suppress(ProcessLookupError):
        os.killpg(one.process.pid, signal.SIGKILL)  # with what its handlers have left behind
    one.process.wait()


def enqueue(dsn: str, kind: str, how: str) -> int:
    with Client(dsn) as client:
        return client.enqueue(kind, {"how": how}).id


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("hang", "block the loop"),
        ("hang", "swallow cancellation"),
        ("hang_in_thread", "sleep"),
    ],
)
def test_a_handler_that_hangs_does_not_hold_up_the_exit(dsn: str, started: Started, kind: str, how: str) -> None:
    enqueue(dsn, kind, how)
    wait_until(lambda: started.began(how), what="the handler to begin", timeout=20)
    assert GRACE <= started.stopped_in() < IN_TIME + BUSY_MACHINE


def test_a_second_signal_ends_a_worker_whose_loop_is_blocked(dsn: str, started: Started) -> None:
    enqueue(dsn, "hang", "block the loop")
    wait_until(lambda: started.began("block the loop"), what="the handler to begin", timeout=20)
    assert started.stopped_in(signals=2) < IN_TIME + BUSY_MACHINE


def test_an_exit_in_a_handlers_child_task_ends_its_attempt_alone(dsn: str, started: Started) -> None:
    leaving = enqueue(dsn, "hang", "exit in a child")
    wait_until(lambda: started.began("exit in a child"), what="the handler to begin", timeout=20)
    with Client(dsn) as client:
        after = client.enqueue("look", {}).id
        assert client.wait(after, timeout=20).result == started.process.pid
        wait_until(lambda: client.get(leaving).state == "scheduled", what="the failed attempt to be settled")
        assert client.get(leaving).errors[0].type == "SystemExit"
    started.stopped_in()
    assert started.process.returncode == 0


@pytest.mark.parametrize(
    ("kind", "how"),
    [("leave_a_fork", "sleep"), ("hang", "asyncio's signals"), ("hang", "stop the loop")],
)
def test_what_a_handler_has_done_to_the_process_does_not_keep_it_from_stopping(
    dsn: str, started: Started, kind: str, how: str
) -> None:
    job_id = enqueue(dsn, kind, how)
    with Client(dsn) as client:
        assert client.wait(job_id, 20).result == how
    assert started.stopped_in() < GRACE + BUSY_MACHINE
    assert started.process.returncode == 0


def test_an_idle_worker_stops_at_once_and_leaves_the_list(dsn: str, started: Started) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:

        def workers() -> int:
            return connection.execute("SELECT count(*) FROM howdah.workers").fetchall()[0][0]

        wait_until(lambda: workers() == 1, what="the worker to register", timeout=20)
        assert started.stopped_in() < IN_TIME + BUSY_MACHINE
        assert started.process.returncode == 0
        assert workers() == 0


def test_a_log_that_hangs_does_not_hold_up_the_exit(dsn: str) -> None:
    command = [sys.executable, "-m", "howdah", "worker", "-m", "tests.app.hanging_log", "--grace", str(GRACE)]
    process = subprocess.Popen(
        command, cwd=TOP, env={**os.environ, "HOWDAH_DSN": dsn}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        with psycopg.connect(dsn, autocommit=True) as connection:
            worker = "SELECT 1 FROM howdah.workers WHERE pid = %s"
            wait_until(lambda: connection.execute(worker, [process.pid]).fetchone(), what="the worker", timeout=20)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
        assert time.monotonic() - began < IN_TIME + BUSY_MACHINE
    finally:
        process.kill()
        process.wait()


def test_a_host_that_has_drained_keeps_its_own_signals_in_its_children(dsn: str) -> None:
    code = """
import os, signal
from howdah import Worker
from tests.app.handlers_that_hang import look

heard = []
signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
Worker(kinds=[look]).drain()
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGTERM)
    os._exit(7 if heard else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=TOP, env={**os.environ, "HOWDAH_DSN": dsn}, capture_output=True, text=True
    )
    assert done.stdout == "7\n", done.stderr
