"""Findings about queues, workers and jobs: each situation is made, and found."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from howdah import Client, Worker, job
from howdah.diagnosis import Severity
from howdah.model.job import Vitals, WorkerInfo
from howdah.store import workers
from tests.doctor.conftest import ask, only
from tests.support.jobs import PAST, make_job, make_kind, run

ALIVE = WorkerInfo("alive", "here", 4711, "1", {"default": 5})


@job
def count(n: int) -> int:
    return n


def test_a_healthy_database_at_work_is_all_green(dsn: str) -> None:
    async def work() -> None:
        worker = Worker(dsn, [count], poll=0.1)
        running = asyncio.create_task(worker.run_async())
        with Client(dsn) as client:
            for n in range(50):
                last = await asyncio.to_thread(client.enqueue, "count", {"n": n}, key=str(n))
            await asyncio.to_thread(client.wait, last.id, 10)
            client.enqueue("count", {"n": 1}, delay=3600)
            assert await asyncio.to_thread(ask, dsn) == {}
        worker.stop()
        await running

    asyncio.run(work())
    assert ask(dsn) == {}


def test_an_expired_lease_that_nobody_reaps(dsn: str, conn: psycopg.Connection[Any]) -> None:
    make_kind(conn, declared={})
    job_id = make_job(conn, "running", lease_expired=True)
    assert ask(dsn) == {}  # for a second only: the next sweep is on its way
    found = only(ask(dsn, overdue=0.5), "expired-leases", Severity.PROBLEM)
    assert (found.facts["jobs"], found.facts["workers"]) == ([job_id], ["w"])
    assert "howdah sweep" in found.advice
    with Client(dsn) as client:
        client.sweep()
    assert ask(dsn, overdue=0.5) == {}


def test_a_scheduled_job_that_nobody_promotes(dsn: str, conn: psycopg.Connection[Any]) -> None:
    make_kind(conn, declared={})
    job_id = make_job(conn, "scheduled", run_at=PAST)
    found = only(ask(dsn, overdue=0.5), "overdue-jobs", Severity.PROBLEM)
    assert found.facts["jobs"] == [job_id]


def test_living_workers_that_do_not_sweep(dsn: str, conn: psycopg.Connection[Any]) -> None:
    run(conn, workers.register_worker(ALIVE))
    assert "nobody has swept yet" in only(ask(dsn), "sweeps", Severity.WARNING).title
    conn.execute("INSERT INTO howdah.sweeps VALUES ('jobs', howdah.clock())")
    assert ask(dsn) == {}
    conn.execute("UPDATE howdah.sweeps SET last_at = last_at - interval '10 minutes'")
    assert "10 min" in only(ask(dsn), "sweeps", Severity.WARNING).title


def test_a_kind_that_no_worker_of_today_has(dsn: str, conn: psycopg.Connection[Any]) -> None:
    """A handler that was renamed: the database still knows the kind."""
    make_kind(conn, kind="renamed", declared={})
    make_job(conn, kind="renamed", queue="default")
    run(conn, workers.register_worker(replace(ALIVE, kinds=["other"])))
    conn.execute("INSERT INTO howdah.sweeps VALUES ('jobs', howdah.clock())")
    found = only(ask(dsn, waiting=0), "unknown-kinds", Severity.WARNING)
    assert "renamed" in found.title
    run(conn, workers.register_worker(replace(ALIVE, name="another", kinds=["renamed"])))
    assert ask(dsn, waiting=0) == {}


def test_a_queue_with_work_and_no_worker(dsn: str, conn: psycopg.Connection[Any]) -> None:
    make_kind(conn, declared={})
    make_job(conn, queue="lonely")
    assert ask(dsn) == {}  # it has only just come
    found = only(ask(dsn, waiting=0), "unserved-queues", Severity.WARNING)
    assert "-q lonely:10" in found.advice
    run(conn, workers.register_worker(WorkerInfo("alive", "here", 1, "1", {"lonely": 5})))
    assert list(ask(dsn, waiting=0)) == ["sweeps"]  # nobody runs behind this row


def test_every_queue_is_looked_at_and_the_first_in_line_counts(dsn: str, conn: psycopg.Connection[Any]) -> None:
    make_kind(conn, declared={})
    for queue in ("a", "b", "c"):
        make_job(conn, queue=queue, priority=1)
        make_job(conn, queue=queue, run_at=PAST)
    said = ask(dsn, waiting=0.9)
    assert [finding.facts["queue"] for finding in said["unserved-queues"]] == ["a", "b", "c"]


def test_a_paused_queue(dsn: str, conn: psycopg.Connection[Any]) -> None:
    make_kind(conn, declared={})
    with Client(dsn) as client:
        client.pause("p")
        found = only(ask(dsn), "paused-queues", Severity.NOTE)
        assert found.advice == "howdah queues resume p"
        make_job(conn, queue="p")
        assert only(ask(dsn, waiting=0), "paused-queues").severity is Severity.NOTE
        assert only(ask(dsn, paused=0, waiting=0), "paused-queues").severity is Severity.WARNING
        client.resume("p")
    assert list(ask(dsn, waiting=0)) == ["unserved-queues"]


@pytest.mark.parametrize("state", ["available", "scheduled"])
def test_a_kind_that_nobody_knows(state: str, dsn: str, conn: psycopg.Connection[Any]) -> None:
    make_job(conn, state, kind="mystery", excused=4)
    run(conn, workers.register_worker(ALIVE))
    conn.execute("INSERT INTO howdah.sweeps VALUES ('jobs', howdah.clock())")
    assert ask(dsn) == {}
    found = only(ask(dsn, waiting=0), "unknown-kinds", Severity.WARNING)
    assert (found.facts["kind"], found.facts["jobs"], found.facts["put_off"]) == ("mystery", 1, 4)
    make_kind(conn, "mystery")  # set by an operator: still no code for it
    assert list(ask(dsn, waiting=0)) == ["unknown-kinds"]
    conn.execute("UPDATE howdah.kinds SET declared = '{}'")
    assert ask(dsn, waiting=0) == {}


def test_a_worker_that_vanished(dsn: str, conn: psycopg.Connection[Any]) -> None:
    run(conn, workers.register_worker(ALIVE))
    conn.execute("UPDATE howdah.workers SET heartbeat_at = heartbeat_at - interval '5 minutes'")
    found = only(ask(dsn), "lost-workers", Severity.NOTE)
    assert "process 4711 on here" in found.advice


def test_slots_held_by_handlers_that_do_not_end(dsn: str, conn: psycopg.Connection[Any]) -> None:
    conn.execute("INSERT INTO howdah.sweeps VALUES ('jobs', howdah.clock())")
    run(conn, workers.beat(ALIVE, Vitals(running=3, stuck=2)))
    found = only(ask(dsn), "stuck-slots", Severity.WARNING)
    assert "2 of 5 slots" in found.title


@pytest.mark.parametrize("state", ["available", "scheduled", "running"])
def test_jobs_given_back_again_and_again(state: str, dsn: str, conn: psycopg.Connection[Any]) -> None:
    make_kind(conn, declared={})
    job_id = make_job(conn, state, excused=12, settled_event="release")
    make_job(conn, state, excused=12, settled_event="snooze")  # a handler that waits
    found = only(ask(dsn), "loops", Severity.WARNING)
    assert (found.facts["jobs"], found.facts["excused"]) == ([job_id], 12)
    assert only(ask(dsn, snoozed=12, released=13), "loops").severity is Severity.NOTE


def test_jobs_whose_outcome_is_unknown(dsn: str, conn: psycopg.Connection[Any]) -> None:
    job_id = make_job(conn, "unknown", kind="pay")
    found = only(ask(dsn), "unknown-jobs", Severity.WARNING)
    assert (found.facts["jobs"], found.facts["kinds"]) == ([job_id], ["pay"])
    assert "howdah jobs resolve" in found.advice
