"""Signals: a graceful stop, and one that is not."""

from __future__ import annotations

import signal
import time

import psycopg
import pytest

from howdah import Client, JobState
from tests.journey import kinds
from tests.journey.conftest import StartWorker
from tests.journey.test_crashes import began, open_gate
from tests.support.held import wait_until


def test_sigterm_lets_what_has_begun_finish_and_claims_no_more(
    journey: str, conn: psycopg.Connection, start_worker: StartWorker
) -> None:
    worker = start_worker("-q", "default:1")
    with Client(journey) as client:
        first = kinds.wait_for_gate.enqueue(client, "g")
        wait_until(lambda: began(conn), what="the first to begin")
        worker.signal(signal.SIGTERM)
        wait_until(lambda: "stopping" in worker.log, what="the stop")
        second = kinds.note.enqueue(client, "after the stop")
        open_gate(conn)
        assert worker.wait() == 0
        assert client.get(first.id).state is JobState.COMPLETED
        assert client.get(second.id).attempt == 0
    assert conn.execute("SELECT count(*) FROM howdah.workers").fetchone() == (0,)


def test_a_second_signal_abandons_what_runs(journey: str, conn: psycopg.Connection, start_worker: StartWorker) -> None:
    worker = start_worker()
    with Client(journey) as client:
        job = kinds.block_for_gate.enqueue(client, "g")
        wait_until(lambda: began(conn), what="the job to begin")
        worker.signal(signal.SIGTERM)
        worker.signal(signal.SIGTERM)  # at once: the same wish
        wait_until(lambda: "stopping" in worker.log, what="the stop")
        assert "again" not in worker.log

        def gone() -> bool:
            worker.signal(signal.SIGTERM)
            return worker.process.poll() is not None

        wait_until(gone, what="the end")
        assert (worker.wait(), "again" in worker.log) == (0, True)
        assert client.get(job.id).state is JobState.RUNNING


def test_after_the_grace_an_async_handler_is_cancelled_and_its_job_given_back(
    journey: str, conn: psycopg.Connection, start_worker: StartWorker
) -> None:
    worker = start_worker("--grace", "0.3")
    with Client(journey) as client:
        job = kinds.wait_for_gate.enqueue(client, "g")
        wait_until(lambda: began(conn), what="the job to begin")
        worker.signal(signal.SIGTERM)
        assert worker.wait(5) == 0
        after = client.get(job.id)
    assert (after.state, after.attempt, after.excused) == (JobState.AVAILABLE, 1, 1)


def test_a_cancel_request_reaches_a_sync_handler(
    journey: str, conn: psycopg.Connection, start_worker: StartWorker
) -> None:
    start_worker()
    with Client(journey) as client:
        job = kinds.block_for_gate.enqueue(client, "g")
        wait_until(lambda: began(conn), what="the job to begin")
        assert client.cancel(job.id).state is JobState.RUNNING
        assert client.wait(job.id, 10).result == "cancelled"
    assert conn.execute("SELECT 1 FROM public.traces WHERE what = 'saw cancelled'").fetchone()


def test_a_cancel_request_ends_an_async_handler(
    journey: str, conn: psycopg.Connection, start_worker: StartWorker
) -> None:
    start_worker()
    with Client(journey) as client:
        job = kinds.wait_for_gate.enqueue(client, "g")
        wait_until(lambda: began(conn), what="the job to begin")
        client.cancel(job.id)
        assert client.wait(job.id, 10).state is JobState.CANCELLED


@pytest.mark.parametrize("what", ["thread", "executor"])
def test_what_a_handler_leaves_behind_does_not_hold_up_the_exit(
    journey: str, start_worker: StartWorker, what: str
) -> None:
    worker = start_worker("--grace", "0.5")
    with Client(journey) as client:
        assert client.wait(kinds.leave_behind.enqueue(client, what).id, 10).result == what
    began = time.monotonic()
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0
    assert time.monotonic() - began < 0.5 + 2 + 1  # the last one for a busy machine
