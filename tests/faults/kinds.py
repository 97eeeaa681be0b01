"""Kinds for the faults: what ran is kept in this process, since the database may be away."""

from __future__ import annotations

import threading
from collections import Counter

from howdah import Context, Retry, job

AT_ONCE = Retry(max_attempts=5, base=0.05, factor=1.0, cap=0.1)

ran: Counter[int] = Counter()  # job id → how often its handler began
opened: dict[str, threading.Event] = {}


def gate(name: str) -> threading.Event:
    return opened.setdefault(name, threading.Event())


@job(lease=2.0, retry=AT_ONCE)
async def note(ctx: Context) -> str:
    ran[ctx.job_id] += 1
    return "noted"


@job(lease=2.0, retry=AT_ONCE)
async def write(ctx: Context) -> str:
    ran[ctx.job_id] += 1
    async with ctx.transaction() as connection:
        await connection.execute("INSERT INTO public.effects VALUES (%s)", [ctx.job_id])
    return "written"


@job(lease=2.0, retry=AT_ONCE)
def write_blocking(ctx: Context) -> str:
    ran[ctx.job_id] += 1
    with ctx.transaction() as connection:
        connection.execute("INSERT INTO public.effects VALUES (%s)", [ctx.job_id])
    return "written"


@job(lease=60.0)
def hold(ctx: Context, name: str) -> str:
    """Runs until its gate opens."""
    ran[ctx.job_id] += 1
    assert gate(name).wait(60)
    return "let go"


@job(lease=2.0, retry=AT_ONCE)
def hold_shortly(ctx: Context, name: str) -> str:
    """As `hold`, with a lease that has to be extended."""
    ran[ctx.job_id] += 1
    assert gate(name).wait(60)
    return "let go"


@job(lease=60.0)
def hold_in_transaction(ctx: Context, name: str) -> str:
    """As `hold`, in a transaction."""
    with ctx.transaction() as connection:
        connection.execute("SELECT 1")
        ran[ctx.job_id] += 1
        assert gate(name).wait(60)
    return "let go"


@job(lease=60.0)
async def hold_in_async_transaction(ctx: Context, name: str) -> str:
    """As `hold_in_transaction`, awaited."""
    import asyncio

    async with ctx.transaction() as connection:
        await connection.execute("SELECT 1")
        ran[ctx.job_id] += 1
        assert await asyncio.to_thread(gate(name).wait, 60)
    return "let go"
