"""Workers in this process, with a proxy between them and PostgreSQL."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from howdah import Client, JobState, Worker
from howdah.store import attempt_transaction, bell, own_connection, source
from tests.faults import kinds
from tests.support.held import wait_until
from tests.support.proxy import Proxy

TOP = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _nothing_has_run() -> None:
    kinds.ran.clear()
    kinds.opened.clear()


@pytest.fixture
def effects(dsn: str) -> None:
    """The table that the kinds write to."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS public.effects; CREATE TABLE public.effects (job_id bigint)")


@pytest.fixture
def proxy(dsn: str, effects: None) -> Iterator[Proxy]:
    """A proxy in front of `dsn`."""
    with Proxy(dsn) as proxy:
        yield proxy


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is noticed within a second or two instead of ten."""
    for module in (source, bell, attempt_transaction):
        monkeypatch.setattr(module, "PATIENCE", 0.6)
    monkeypatch.setattr(bell, "PROBE", 0.3)
    monkeypatch.setattr(own_connection, "CANCELLING", 0.2)


@contextmanager
def working(dsn: str, *, observer: str | None = None, **options: Any) -> Iterator[Worker]:
    """A worker that has registered; stopped at the end."""
    options = {"poll": 0.2, "grace": 5.0, **options}
    worker = Worker(make_conninfo(dsn, connect_timeout=2), options.pop("kinds", [kinds]), **options)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            asyncio.run(worker.run_async())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)
    with psycopg.connect(observer or dsn, autocommit=True) as connection:
        before = _workers(connection)
        thread.start()
        wait_until(lambda: failed or _workers(connection) > before, what="the worker to register", timeout=20)
    try:
        yield worker
    finally:
        worker.stop()
        thread.join(15)
    assert not failed, failed
    assert not thread.is_alive()


@contextmanager
def worker_process(dsn: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker in a process of its own, which ends well."""
    command = [sys.executable, "-m", "howdah", "worker", "-m", "tests.faults.kinds", "--poll", "0.2", *arguments]
    environment = {**os.environ, "HOWDAH_DSN": make_conninfo(dsn, connect_timeout=2)}
    process = subprocess.Popen(command, cwd=TOP, env=environment, stderr=subprocess.DEVNULL)
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()


def all_completed(dsn: str, ids: list[int], timeout: float = 10) -> None:
    """Wait until all of these are completed, and nothing else became of any."""
    with Client(dsn) as client:
        for job_id in ids:
            assert client.wait(job_id, timeout).state is JobState.COMPLETED


def _workers(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute("SELECT count(*) FROM howdah.workers").fetchone()
    assert row is not None
    return int(row[0])
