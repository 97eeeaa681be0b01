"""What a worker reports after its job was parked: refused, rolled back, and kept as evidence."""

from __future__ import annotations

import threading
from typing import Any

import psycopg
import pytest

from howdah import Client, Context, JobState, Snooze, Worker, job
from tests.support.held import background

begun, go_on = threading.Event(), threading.Event()


@job(on_crash="unknown")
def charge(ctx: Context) -> str:
    with ctx.transaction() as connection:
        connection.execute("INSERT INTO public.seen VALUES (1)")
    begun.set()
    go_on.wait(10)
    return "paid"


@job
def put_off(ctx: Context) -> Snooze:
    with ctx.transaction() as connection:
        connection.execute("INSERT INTO public.seen VALUES (2)")
    begun.set()
    go_on.wait(10)
    return Snooze(5)


@pytest.fixture(autouse=True)
def table(conn: psycopg.Connection[Any]) -> None:
    begun.clear()
    go_on.clear()
    conn.execute("CREATE TABLE IF NOT EXISTS public.seen (n integer); TRUNCATE public.seen")


def test_the_late_report_of_a_transaction_is_evidence_and_its_writes_are_gone(
    dsn: str, conn: psycopg.Connection[Any]
) -> None:
    with Client(dsn) as client:
        parked = charge.enqueue(client)
        draining = background(lambda: Worker(dsn, [charge]).drain())
        assert begun.wait(10)
        conn.execute("UPDATE howdah.jobs SET lease_expires_at = clock_timestamp() - interval '1 s'")
        client.sweep()
        assert client.get(parked.id).state is JobState.UNKNOWN
        go_on.set()
        draining.result(20)
        after = client.get(parked.id)
    assert after.state is JobState.UNKNOWN
    assert [error.event for error in after.errors] == ["crashed", "late"]
    assert conn.execute("SELECT count(*) FROM public.seen").fetchone() == (0,)


def test_a_superseded_job_loses_its_writes_whatever_its_handler_returns(
    dsn: str, conn: psycopg.Connection[Any]
) -> None:
    with Client(dsn) as client:
        older = put_off.options(subject="s").enqueue(client)
        draining = background(lambda: Worker(dsn, [put_off]).drain(limit=1))
        assert begun.wait(10)
        newer = put_off.options(subject="s", delay=60).enqueue(client)
        go_on.set()
        draining.result(20)
        after = client.get(older.id)
    assert (after.state, after.superseded_by) == (JobState.SUPERSEDED, newer.id)
    assert conn.execute("SELECT count(*) FROM public.seen").fetchone() == (0,)
