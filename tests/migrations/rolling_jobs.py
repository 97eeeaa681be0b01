"""What the workers of both releases run: each completed attempt leaves one row, in its own transaction."""

from __future__ import annotations

import os
from typing import Any

from howdah import Context, Retry, job
from howdah.migrations import SCHEMA_VERSION

LEDGER = """
    CREATE TABLE public.ledger (
        job bigint, attempt integer, pid integer, release integer, at timestamptz DEFAULT clock_timestamp()
    )
"""
ROW = "INSERT INTO public.ledger (job, attempt, pid, release) VALUES (%s, %s, %s, %s)"


def row(ctx: Context) -> list[Any]:
    return [ctx.job_id, ctx.attempt, os.getpid(), SCHEMA_VERSION]


@job
async def follow_up(ctx: Context) -> None:
    async with ctx.transaction() as conn:
        await conn.execute(ROW, row(ctx))


@job
def threaded(ctx: Context, n: int) -> int:
    with ctx.transaction() as conn:
        conn.execute(ROW, row(ctx))
        if n % 5 == 0:
            follow_up.enqueue(conn)
    return n


@job
async def awaited(ctx: Context, n: int) -> int:
    async with ctx.transaction() as conn:
        await conn.execute(ROW, row(ctx))
        if n % 5 == 0:
            await follow_up.options(key=f"after {ctx.job_id}").enqueue(conn)
    return n


@job(on_crash="unknown")
def once(ctx: Context, n: int) -> None:
    with ctx.transaction() as conn:
        conn.execute(ROW, row(ctx))


@job(retry=Retry(max_attempts=3, base=0.1))
def flaky(ctx: Context, n: int) -> None:
    with ctx.transaction() as conn:
        conn.execute(ROW, row(ctx))
        if ctx.attempt == 1:
            raise ValueError("the first attempt fails")
