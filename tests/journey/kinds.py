"""Kinds that leave traces in the test's database, for workers in processes of their own."""

from __future__ import annotations

import asyncio
import os
import threading
import time

import psycopg

from howdah import Context, Retry, job

QUICK = Retry(max_attempts=3, base=0.05, factor=1.0, cap=0.1)


def trace(what: str, job_id: int = 0, token: int = 0) -> None:
    """What happened, committed at once and by a connection of its own."""
    with psycopg.connect(os.environ["HOWDAH_DSN"], autocommit=True) as connection:
        connection.execute(
            "INSERT INTO public.traces (what, job_id, token, pid) VALUES (%s, %s, %s, %s)",
            [what, job_id, token, os.getpid()],
        )


def gate_is_open(name: str) -> bool:
    with psycopg.connect(os.environ["HOWDAH_DSN"], autocommit=True) as connection:
        return connection.execute("SELECT 1 FROM public.gates WHERE name = %s", [name]).fetchone() is not None


@job(lease=1.0, retry=QUICK)
def note(ctx: Context, text: str) -> str:
    with ctx.transaction() as connection:
        connection.execute(
            "INSERT INTO public.traces (what, job_id, token, pid) VALUES (%s, %s, %s, %s)",
            [text, ctx.job_id, ctx.token, os.getpid()],
        )
    return text


@job(lease=1.0, retry=QUICK)
async def wait_for_gate(ctx: Context, gate: str) -> str:
    await asyncio.to_thread(trace, "began", ctx.job_id, ctx.token)
    while not await asyncio.to_thread(gate_is_open, gate):
        await asyncio.sleep(0.02)
    return "through"


@job
async def patient(ctx: Context, gate: str) -> str:
    """As `wait_for_gate`, with the default lease."""
    await asyncio.to_thread(trace, "began", ctx.job_id, ctx.token)
    while not await asyncio.to_thread(gate_is_open, gate):
        await asyncio.sleep(0.02)
    return "through"


@job(lease=1.0, retry=QUICK)
def block_for_gate(ctx: Context, gate: str) -> str:
    trace("began", ctx.job_id, ctx.token)
    while not gate_is_open(gate):
        if ctx.cancel_requested:
            trace(f"saw {ctx.cancel_requested}", ctx.job_id, ctx.token)
            return "cancelled"
        threading.Event().wait(0.02)
    return "through"


@job(lease=2.0, retry=QUICK)
async def hog_the_loop(ctx: Context, seconds: float) -> str:
    """Blocks the event loop for longer than its lease: only the keeper's thread can save it."""
    time.sleep(seconds)
    return f"attempt {ctx.attempt}"


@job(lease=1.0, retry=QUICK)
def poison() -> None:
    os._exit(1)


@job(lease=1.0, retry=QUICK)
def innocent() -> None:
    pass


@job(lease=1.0, on_crash="unknown", on_unknown="looked_at")
def once(ctx: Context, gate: str) -> None:
    trace("began", ctx.job_id, ctx.token)
    while not gate_is_open(gate):
        threading.Event().wait(0.02)


@job
def looked_at(job_id: int, reason: str) -> str:
    return f"{job_id} {reason}"


@job(retry=Retry(max_attempts=1))
def fail() -> None:
    raise ValueError("no")


@job(retry=Retry(max_attempts=1))
async def leave_behind(what: str) -> str:
    """Something that goes on for a minute after its handler has ended."""
    if what == "thread":
        threading.Thread(target=time.sleep, args=(60,)).start()
    else:
        asyncio.get_running_loop().run_in_executor(None, time.sleep, 60)
    return what
