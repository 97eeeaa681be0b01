"""An idle worker is woken, polls when it cannot be, and tells a handler of a long lease what it is asked."""

from __future__ import annotations

import psycopg

from howdah import Client, JobState
from tests.journey import kinds
from tests.journey.conftest import StartWorker
from tests.journey.test_crashes import began
from tests.support.held import wait_until

ARMED = "SELECT 1 WHERE pg_sequence_last_value('howdah.bell'::regclass) = 1"
LISTENERS = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"


def test_an_idle_worker_is_woken_also_after_its_listener_was_cut(
    journey: str, conn: psycopg.Connection, start_worker: StartWorker
) -> None:
    start_worker("--poll", "30")  # the later option counts
    with Client(journey) as client:
        for _ in range(3):
            wait_until(lambda: conn.execute(ARMED).fetchone(), what="the worker to be idle")
            assert client.wait(kinds.note.enqueue(client, "x").id, 5).state is JobState.COMPLETED
        (listener,) = wait_until(lambda: conn.execute(LISTENERS).fetchone(), what="the listener")
        conn.execute("SELECT pg_terminate_backend(%s)", [listener])
        wait_until(lambda: (row := conn.execute(LISTENERS).fetchone()) and row != (listener,), what="another listener")
        assert client.wait(kinds.note.enqueue(client, "x").id, 5).state is JobState.COMPLETED


def test_a_worker_without_a_bell_polls(journey: str, conn: psycopg.Connection, start_worker: StartWorker) -> None:
    start_worker("--poll", "0.2")
    with Client(journey) as client:
        for _ in range(3):
            conn.execute("SELECT setval('howdah.bell', 0)")  # nobody will be notified
            assert client.wait(kinds.note.enqueue(client, "x").id, 5).state is JobState.COMPLETED


def test_a_cancel_request_reaches_a_handler_long_before_its_lease_is_extended(
    journey: str, conn: psycopg.Connection, start_worker: StartWorker
) -> None:
    start_worker()
    with Client(journey) as client:
        job = kinds.patient.enqueue(client, "g")
        wait_until(lambda: began(conn), what="the job to begin")
        client.cancel(job.id)
        assert client.wait(job.id, 8).state is JobState.CANCELLED  # its lease is 60 s
