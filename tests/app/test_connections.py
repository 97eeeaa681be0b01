"""What handlers do to their connection, and what was done to it before."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.rows import dict_row

from howdah import Client, Context, JobState, Worker, job

# The last thing that was done on a transaction's connection before it went back to its pool.
CUT = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE 'RESET ALL%' AND state = 'idle'"


@job(on_crash="unknown")
def charge(ctx: Context) -> str:
    with ctx.transaction() as connection:
        return str(connection.execute("SHOW search_path").fetchone()[0])  # type: ignore[index]


@job(on_crash="unknown")
async def charge_later(ctx: Context) -> str:
    async with ctx.transaction() as connection:
        row = await (await connection.execute("SHOW search_path")).fetchone()
        return str(row[0])  # type: ignore[index]


@job
def meddle(ctx: Context) -> None:
    with ctx.transaction() as connection:
        connection.execute("SET search_path = pg_catalog")
        connection.row_factory = dict_row  # type: ignore[assignment]


@job
def cut(dsn: str) -> int:
    """The connections of the handlers' transactions die in their pools."""
    with psycopg.connect(dsn, autocommit=True) as other:
        return int(other.execute(CUT).fetchone()[0])  # type: ignore[index]


def test_a_connection_that_died_in_the_pool_costs_no_attempt(dsn: str) -> None:
    with Client(dsn) as client:
        for kind in (charge, charge_later):
            kind.enqueue(client)
        cutting = cut.enqueue(client, dsn)
        jobs = [kind.enqueue(client) for kind in (charge, charge_later) for _ in range(3)]
        Worker(dsn, [charge, charge_later, cut], queues={"default": 1}).drain()
        assert client.get(cutting.id).result >= 1
        assert {client.get(made.id).state for made in jobs} == {JobState.COMPLETED}


def test_what_a_handler_sets_does_not_reach_the_next_one(dsn: str) -> None:
    with Client(dsn) as client:
        meddle.enqueue(client)
        made = charge.enqueue(client)
        Worker(dsn, [charge, meddle], queues={"default": 1}).drain()
        assert client.get(made.id).result == '"$user", public'


def test_args_that_python_cannot_read_cost_their_own_attempt_only(dsn: str, conn: psycopg.Connection[Any]) -> None:
    conn.execute("""SELECT howdah.enqueue('charge', ('{"n": ' || repeat('9', 5000) || '}')::jsonb)""")
    with Client(dsn) as client:
        made = charge.enqueue(client)
        Worker(dsn, [charge]).drain()
        assert client.get(made.id).state is JobState.COMPLETED
    assert conn.execute(
        "SELECT state, errors -> -1 ->> 'event' FROM howdah.history WHERE id < %s", [made.id]
    ).fetchall() == [("discarded", "undecodable")]
