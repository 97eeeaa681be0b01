"""A job that moves to history and back is found at every moment, and exactly once."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from psycopg import Connection

from howdah import Client
from howdah.model.job import Job
from howdah.model.outcome import Event
from howdah.store import claiming, jobs
from tests.support.held import Connect, together
from tests.support.jobs import enqueue, report, run

ROUNDS = 150


def test_a_reader_never_misses_a_job_that_is_completed_and_requeued(
    client: Client, conn: Connection[Any], connect: Connect
) -> None:
    job = enqueue(conn).id
    done = threading.Event()

    def move(own: Connection[Any]) -> None:
        try:
            for _ in range(ROUNDS):
                report(own, run(own, claiming.claim_job(job, worker="w")).lease, Event.COMPLETE)
                run(own, jobs.requeue(job))
        finally:
            done.set()

    def read() -> set[str]:
        seen = set()
        while not done.is_set():
            found = client.get(job)
            assert isinstance(found, Job)
            seen.add(found.state)
        return seen

    def count(own: Connection[Any]) -> set[int]:
        seen = set()
        while not done.is_set():
            row = own.execute("SELECT count(*) FROM howdah.all_jobs WHERE id = %s", [job]).fetchone()
            seen.add(row[0] if row else -1)
        return seen

    moved, states, counts = together(partial(move, connect()), read, partial(count, connect()))
    assert moved is None
    assert states <= {"available", "running", "completed"}
    assert counts == {1}
    assert client.get(job).attempt == ROUNDS
