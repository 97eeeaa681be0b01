"""A worker on one fixed connection: all that it does is in its owner's transaction, and can be rolled back."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg

from howdah import Context, Retry, Snooze, job
from howdah.client.discovery import handlers_of
from howdah.model.job import Drained, WorkerInfo
from howdah.store.source import FixedSource
from howdah.worker.handler import Handler
from howdah.worker.loop import WorkLoop
from howdah.worker.settings import WorkerSettings


@job
def add(ctx: Context, n: int) -> int:
    with ctx.transaction() as connection:
        connection.execute("INSERT INTO public.seen VALUES (%s)", [n])
    return n


@job
async def shout(text: str) -> str:
    return text.upper()


@job(retry=Retry(max_attempts=1))
def break_down(ctx: Context) -> None:
    with ctx.transaction() as connection:
        connection.execute("INSERT INTO public.seen VALUES (0)")
        raise ValueError("no")


@job
def later() -> Snooze:
    return Snooze(60)


def drain(connection: psycopg.Connection[Any]) -> Drained:
    kinds = handlers_of([add, shout, break_down, later]).values()
    handlers = {
        kind.name: Handler(
            kind.name,
            kind.by_name,
            kind.is_async,
            kind.takes_context,
            lambda args, follow_up, kind=kind: kind.decode(args, drop_unknown=follow_up),
        )
        for kind in kinds
    }
    worker = WorkerInfo("test", "here", 1, "0", {"default": 2})
    loop = WorkLoop(
        FixedSource(connection),
        handlers,
        WorkerSettings(queues={"default": 2}),
        worker=worker,
        policies=[kind.policy for kind in kinds],
    )
    return asyncio.run(loop.drain())


def test_a_drain_on_one_connection_runs_everything_and_can_be_rolled_back(conn: psycopg.Connection[Any]) -> None:
    conn.execute("CREATE TABLE IF NOT EXISTS public.seen (n integer); TRUNCATE public.seen")
    with conn.transaction() as outer:
        for n in range(5):
            add.enqueue(conn, n)
        shout.enqueue(conn, "hi")
        break_down.enqueue(conn)
        later.enqueue(conn)
        assert drain(conn) == Drained(completed=6, failed=0, discarded=1, snoozed=1, cancelled=0)
        assert sorted(row[0] for row in conn.execute("SELECT n FROM public.seen")) == list(range(5))
        results = {
            row[0] for row in conn.execute("SELECT result #>> '{}' FROM howdah.history WHERE result IS NOT NULL")
        }
        assert results == {"0", "1", "2", "3", "4", "HI"}
        raise psycopg.Rollback(outer)
    assert conn.execute("SELECT count(*) FROM howdah.all_jobs").fetchone() == (0,)
    assert conn.execute("SELECT count(*) FROM public.seen").fetchone() == (0,)


def test_a_drain_on_an_autocommit_connection_commits(conn: psycopg.Connection[Any]) -> None:
    shout.enqueue(conn, "hi")
    assert drain(conn).completed == 1
    assert conn.execute("SELECT state FROM howdah.all_jobs").fetchall() == [("completed",)]
