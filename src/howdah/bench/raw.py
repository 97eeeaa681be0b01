"""Clients of the baseline: psycopg and plain SQL, nothing of Howdah but its tables."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from howdah.bench import baseline, kinds
from howdah.bench.ledger import Ledger


def drain(spec: Mapping[str, Any], gate: Callable[[], None]) -> int:
    """Claim 500, complete them, until nothing is left; gives how many there were."""
    done = 0
    with _connection() as connection:
        cursor = connection.cursor(binary=True)
        gate()
        while rows := cursor.execute(baseline.CLAIM, (baseline.CLAIM_OF,), prepare=True).fetchall():
            cursor.execute(baseline.COMPLETE, ([row[0] for row in rows],), prepare=True)
            done += len(rows)
    return done


def effects(spec: Mapping[str, Any], gate: Callable[[], None]) -> int:
    """Claim one, write a row, complete, commit: on so many connections of one process."""

    async def one(connection: psycopg.AsyncConnection[Any]) -> int:
        done = 0
        while True:
            async with connection.transaction(), connection.cursor(binary=True) as cursor:
                row = await (await cursor.execute(baseline.CLAIM, (1,), prepare=True)).fetchone()
                if row is None:
                    return done
                await cursor.execute(baseline.EFFECT, (row[2]["n"], row[2]["text"]), prepare=True)
                await cursor.execute(baseline.COMPLETE, ([row[0]],), prepare=True)
            done += 1

    async def run() -> int:
        dsn = os.environ["HOWDAH_DSN"]
        opened = [await psycopg.AsyncConnection.connect(dsn, autocommit=True) for _ in range(spec["connections"])]
        await asyncio.to_thread(gate)
        done = await asyncio.gather(*map(one, opened))
        for connection in opened:
            await connection.close()
        return sum(done)

    return asyncio.run(run())


def listen(spec: Mapping[str, Any], gate: Callable[[], None]) -> None:
    """Wait for a NOTIFY, claim, mark, complete: the least that a wake-up can take."""
    ledger = Ledger(Path(spec["ledger"]), spec["jobs"], moments=True)
    with _connection() as connection:
        cursor = connection.cursor(binary=True)
        connection.execute(baseline.LISTEN)
        gate()
        done = 0
        while done < spec["jobs"]:
            list(connection.notifies(timeout=1.0, stop_after=1))
            rows = cursor.execute(baseline.CLAIM, (baseline.CLAIM_OF,), prepare=True).fetchall()
            for row in rows:
                ledger.mark(row[2]["n"])
            if rows:
                cursor.execute(baseline.COMPLETE, ([row[0] for row in rows],), prepare=True)
            done += len(rows)


@contextmanager
def inserting(kind: str, payload: int, *, notify: bool) -> Iterator[Callable[[int], object]]:
    """A function that inserts one job and commits."""
    statement, text = baseline.INSERT_AND_NOTIFY if notify else baseline.INSERT, kinds.text_of(payload)
    with _connection() as connection:
        cursor = connection.cursor(binary=True)

        def insert(n: int) -> object:
            return cursor.execute(statement.encode(), (kind, args_of(n, text)), prepare=True)

        yield insert


def args_of(n: int, text: str) -> str:
    """The args of a job as JSON."""
    return msgspec.json.encode({"n": n, "text": text}).decode()


def _connection() -> psycopg.Connection[Any]:
    return psycopg.connect(os.environ["HOWDAH_DSN"], autocommit=True)
