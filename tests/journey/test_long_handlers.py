"""A graceful stop of a worker whose handlers take 90 seconds under leases of 3, and of one whose database is gone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from howdah import Client, JobState
from howdah.migrations import migrate
from tests.journey import long_kinds
from tests.journey.conftest import HOWDAH, Process, StartWorker, traced
from tests.support.databases import database
from tests.support.held import wait_until
from tests.support.proxy import Proxy
from tests.support.servers import Server

LONG = float(os.environ.get("HOWDAH_TEST_HANDLER_SECONDS", "90"))
LEASE = 3.0
BUSY_MACHINE = 1.0  # allowed on top of every bound, since other tests run beside this one


def traces(conn: psycopg.Connection, what: str) -> list[int]:
    return [row[0] for row in conn.execute("SELECT job_id FROM public.traces WHERE what = %s", [what])]


def ends(conn: psycopg.Connection) -> dict[int, float]:
    """When each lease ends, as seconds."""
    found = conn.execute(
        "SELECT id, extract(epoch FROM lease_expires_at)::float8 FROM howdah.jobs WHERE state = 'running'"
    )
    return dict(found.fetchall())


@pytest.mark.long
def test_leases_are_kept_during_a_stop_and_cancel_requests_still_arrive(
    journey: str, conn: psycopg.Connection, start_worker: StartWorker
) -> None:
    worker = start_worker("-m", "tests.journey.long_kinds", "--grace", str(LONG + 30))
    with Client(journey) as client:
        kept = [kind.enqueue(client, seconds=LONG).id for kind in (long_kinds.long_async, long_kinds.long_sync)]
        unwanted = [kind.enqueue(client, seconds=LONG).id for kind in (long_kinds.long_async, long_kinds.long_sync)]
        wait_until(lambda: len(traces(conn, "began")) == 4, what="all to begin")
        began = time.monotonic()
        worker.signal(signal.SIGTERM)
        wait_until(lambda: "stopping" in worker.log, what="the stop")
        start_worker("-m", "tests.journey.long_kinds")  # which would take what it can
        for job_id in unwanted:
            client.cancel(job_id)
        for job_id in unwanted:
            assert client.wait(job_id, LEASE + BUSY_MACHINE * 2).state is JobState.CANCELLED
        assert sorted(traces(conn, "saw cancelled")) == sorted(unwanted)
        first = ends(conn)
        wait_until(
            lambda: all(end > first[job_id] + 2 * LEASE for job_id, end in ends(conn).items()),
            what="the leases to be extended again and again",
            timeout=20,
        )
        assert worker.wait(LONG + 30) == 0
        assert LONG - BUSY_MACHINE < time.monotonic() - began < LONG + 2 + BUSY_MACHINE
        for job_id in kept:
            job = client.get(job_id)
            assert (job.state, job.attempt, job.result) == (JobState.COMPLETED, 1, "to the end")
    assert sorted(traces(conn, "began")) == sorted([*kept, *unwanted])


def test_after_the_grace_no_handler_holds_up_the_end_and_nothing_runs_twice_at_once(
    journey: str, conn: psycopg.Connection, start_worker: StartWorker
) -> None:
    worker = start_worker("-m", "tests.journey.long_kinds", "--grace", "1")
    with Client(journey) as client:
        awaited = long_kinds.long_async.enqueue(client, seconds=LONG).id
        threaded = long_kinds.long_sync.enqueue(client, seconds=LONG).id
        wait_until(lambda: len(traces(conn, "began")) == 2, what="both to begin")
        began = time.monotonic()
        worker.signal(signal.SIGTERM)
        assert worker.wait() == 0
        assert time.monotonic() - began < 1 + 2 + BUSY_MACHINE
        assert traces(conn, "saw stopping") == [awaited]
        given_back, left = client.get(awaited), client.get(threaded)
    assert (given_back.state, given_back.excused) == (JobState.AVAILABLE, 1)
    assert left.state is JobState.RUNNING  # until its lease ends: its thread could not be stopped before the process
    assert left.lease_expires_at is not None


@contextmanager
def own_database(server: Server) -> Iterator[str]:
    with database(server) as name:
        dsn = server.dsn_for(name)
        migrate(dsn)
        traced(dsn)
        yield dsn


@pytest.mark.parametrize("fault", ["stall", "refuse"])
def test_it_ends_in_time_with_its_database_gone(server: Server, tmp_path: Path, fault: str) -> None:
    with own_database(server) as dsn, Proxy(dsn) as proxy, psycopg.connect(dsn, autocommit=True) as conn:
        with Client(dsn) as client:
            for kind in (long_kinds.long_async, long_kinds.long_sync):
                kind.enqueue(client, seconds=LONG)
        through = make_conninfo(proxy.dsn, connect_timeout=2)
        command = [
            *HOWDAH,
            "worker",
            "-m",
            "tests.journey.long_kinds",
            "--grace",
            "2",
            "--poll",
            "0.2",
            "--dsn",
            through,
        ]
        worker = Process(command, dsn, tmp_path / "log")
        try:
            wait_until(lambda: len(traces(conn, "began")) == 2, what="both to begin", timeout=20)
            getattr(proxy, fault)()
            began = time.monotonic()
            worker.signal(signal.SIGTERM)
            assert worker.wait() in (0, 1)
            assert time.monotonic() - began < 2 + 2 + BUSY_MACHINE
        finally:
            worker.end()
