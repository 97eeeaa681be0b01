"""Workers and commands in processes of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.support.held import wait_until

TOP = Path(__file__).parents[2]
HOWDAH = [sys.executable, "-m", "howdah"]


class Process:
    """A command that runs in the background, its output in a file."""

    def __init__(self, arguments: list[str], dsn: str, log: Path) -> None:
        self._log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                arguments, cwd=TOP, env=environment(dsn), stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        self.pid = self.process.pid

    @property
    def log(self) -> str:
        return self._log.read_text()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def wait(self, timeout: float = 15) -> int:
        return self.process.wait(timeout)

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()


StartWorker = Callable[..., Process]


def environment(dsn: str) -> dict[str, str]:
    return {**os.environ, "HOWDAH_DSN": dsn, "NO_COLOR": "1", "COLUMNS": "200"}


def howdah(dsn: str, *arguments: str, timeout: float = 30) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*HOWDAH, *arguments], cwd=TOP, env=environment(dsn), capture_output=True, text=True, timeout=timeout
    )


def traced(dsn: str) -> None:
    """The tables that the journey's kinds write to and wait for."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS public.traces (what text, job_id bigint, token integer, pid integer);"
            "CREATE TABLE IF NOT EXISTS public.gates (name text); TRUNCATE public.traces, public.gates"
        )


@pytest.fixture
def journey(dsn: str) -> str:
    """The DSN of a database with the schema and the tables of the journey's kinds."""
    traced(dsn)
    return dsn


@pytest.fixture
def start_worker(journey: str, tmp_path: Path) -> Iterator[StartWorker]:
    """Start `howdah worker` on the journey's kinds; it claims when this returns."""
    started: list[Process] = []

    def start(*arguments: str, dsn: str = journey) -> Process:
        before = _workers(dsn)
        worker = Process(
            [*HOWDAH, "worker", "-m", "tests.journey.kinds", "--poll", "0.2", *arguments],
            dsn,
            tmp_path / f"worker-{len(started)}.log",
        )
        started.append(worker)
        wait_until(lambda: _workers(dsn) > before, what=f"the worker to register: {worker.log}", timeout=20)
        return worker

    yield start
    for worker in started:
        worker.end()


def _workers(dsn: str) -> int:
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute("SELECT count(*) FROM howdah.workers").fetchone()
    return int(row[0]) if row else 0
