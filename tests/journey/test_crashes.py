"""Workers that die, stall or lose their database, seen from outside."""

from __future__ import annotations

import signal
from pathlib import Path

import psycopg

from howdah import Client, JobState
from howdah.embedded import EmbeddedServer
from tests.journey import kinds
from tests.journey.conftest import HOWDAH, Process, StartWorker, traced
from tests.support.held import wait_until


def began(conn: psycopg.Connection, count: int = 1) -> bool:
    row = conn.execute("SELECT count(*) FROM public.traces WHERE what = 'began'").fetchone()
    return row is not None and row[0] >= count


def open_gate(conn: psycopg.Connection) -> None:
    conn.execute("INSERT INTO public.gates VALUES ('g')")


def test_what_a_killed_worker_held_is_finished_by_another(
    journey: str, conn: psycopg.Connection, start_worker: StartWorker
) -> None:
    victim = start_worker("-q", "default:3")
    with Client(journey) as client:
        jobs = kinds.wait_for_gate.enqueue_many(client, [{"gate": "g"}] * 3)
        wait_until(lambda: began(conn, 3), what="the jobs to begin")
        victim.signal(signal.SIGKILL)
        # Nothing but the expiry decides: its row in the list of workers may be gone or taken over.
        conn.execute("DELETE FROM howdah.workers")
        open_gate(conn)
        start_worker()
        done = [client.wait(job.id, 20) for job in jobs]
    assert [(job.state, job.attempt, job.crashes) for job in done] == [(JobState.COMPLETED, 2, 1)] * 3


def test_a_worker_stopped_past_its_lease_changes_nothing_when_it_comes_back(
    journey: str, conn: psycopg.Connection, start_worker: StartWorker
) -> None:
    zombie = start_worker()
    with Client(journey) as client:
        job = kinds.block_for_gate.enqueue(client, "g")
        wait_until(lambda: began(conn), what="the job to begin")
        zombie.signal(signal.SIGSTOP)
        start_worker()
        wait_until(lambda: began(conn, 2), what="another worker to begin it", timeout=20)
        open_gate(conn)
        done = client.wait(job.id, 20)
        zombie.signal(signal.SIGCONT)
        wait_until(lambda: "lease" in zombie.log, what="the zombie to notice")
        assert client.get(job.id) == done
    assert (done.state, done.attempt, done.result) == (JobState.COMPLETED, 2, "through")
    zombie.signal(signal.SIGTERM)
    assert zombie.wait() == 0


def test_a_handler_that_blocks_the_event_loop_keeps_its_lease(journey: str, start_worker: StartWorker) -> None:
    start_worker()
    with Client(journey) as client:
        done = client.wait(kinds.hog_the_loop.enqueue(client, 5.0).id, 20)
    assert (done.state, done.result) == (JobState.COMPLETED, "attempt 1")


def test_a_job_that_must_not_run_twice_is_parked_and_its_reconciler_is_called(
    journey: str, conn: psycopg.Connection, start_worker: StartWorker
) -> None:
    victim = start_worker()
    with Client(journey) as client:
        job = kinds.once.enqueue(client, "g")
        wait_until(lambda: began(conn), what="the job to begin")
        victim.signal(signal.SIGKILL)
        start_worker()
        assert client.wait(job.id, 20).state is JobState.UNKNOWN
        wait_until(
            lambda: (
                conn.execute(
                    "SELECT 1 FROM howdah.history WHERE kind = 'looked_at' AND result #>> '{}' = %s", [f"{job.id} reap"]
                ).fetchone()
                is not None
            ),
            what="the reconciler",
        )
        assert client.resolve(job.id, "completed", "seen").state is JobState.COMPLETED
    assert not began(conn, 2)


def test_a_poison_job_ends_at_its_cap_and_takes_no_neighbour_with_it(
    journey: str, conn: psycopg.Connection, tmp_path: Path
) -> None:
    with Client(journey) as client:
        kinds.innocent.enqueue_many(client, [{}] * 100)
        poisoned = kinds.poison.enqueue(client)
        kinds.innocent.enqueue_many(client, [{}] * 99)
        crashes = 0

        def settled() -> bool:
            nonlocal worker, crashes
            if worker.process.poll() is not None:
                crashes += 1
                worker = worker_process(crashes)
            return conn.execute("SELECT 1 FROM howdah.jobs LIMIT 1").fetchone() is None

        def worker_process(number: int) -> Process:
            command = [*HOWDAH, "worker", "-m", "tests.journey.kinds", "-q", "default:50", "--poll", "0.2"]
            return Process(command, journey, tmp_path / f"{number}.log")

        worker = worker_process(0)
        try:
            wait_until(settled, what="every job to end", timeout=45)
        finally:
            worker.end()
        bad = client.get(poisoned.id)
    # It may have been given back unbegun, which is excused.
    assert (bad.state, bad.attempt - bad.excused, bad.crashes) == (JobState.DISCARDED, 3, 3)
    ends = conn.execute("SELECT state, count(*) FROM howdah.history WHERE kind = 'innocent' GROUP BY 1").fetchall()
    assert ends == [("completed", 199)]


def test_a_worker_goes_on_after_the_server_was_restarted(tmp_path: Path) -> None:
    with EmbeddedServer(durable=False) as server, Client(server.dsn) as client:
        client.migrate()
        traced(server.dsn)
        command = [*HOWDAH, "worker", "-m", "tests.journey.kinds", "--poll", "0.2"]
        worker = Process(command, server.dsn, tmp_path / "worker.log")
        try:
            assert client.wait(kinds.note.enqueue(client, "before").id, 20).state is JobState.COMPLETED
            server.kill()
            server.start()
            with Client(server.dsn) as after:
                done = after.wait(kinds.note.enqueue(after, "after").id, 15)
                assert done.state is JobState.COMPLETED
                assert worker.process.poll() is None
            worker.signal(signal.SIGTERM)
            assert worker.wait() == 0
        finally:
            worker.end()
