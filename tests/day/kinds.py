"""The jobs of the service whose day is played. Each leaves rows in `public` that a person can check."""

from __future__ import annotations

import asyncio
import os
import random
import time
from typing import Any

import psycopg

from howdah import Client, Context, Retry, job

SOON = Retry(max_attempts=25, base=0.2, factor=1.5, cap=2.0)  # so many, since a day here has many crashes
LEASE = 3.0


def note(what: str, n: int, job_id: int, token: int) -> None:
    """A fact outside of the job's transaction, written until it is written: the day's faults stop nobody here."""
    while True:
        try:
            with psycopg.connect(os.environ["DAY_LEDGER"], autocommit=True, connect_timeout=5) as connection:
                connection.execute("INSERT INTO public.notes VALUES (%s, %s, %s, %s)", [what, n, job_id, token])
            return
        except psycopg.OperationalError:
            time.sleep(0.2)


@job(queue="orders", lease=LEASE, retry=SOON)
def book(ctx: Context, n: int) -> str:
    """Its effect is one row, in one commit with its completion."""
    with ctx.transaction() as connection:
        connection.execute("INSERT INTO public.effects (n, job_id) VALUES (%s, %s)", [n, ctx.job_id])
    return "booked"


@job(queue="orders", lease=LEASE, retry=SOON)
async def book_async(ctx: Context, n: int) -> str:
    async with ctx.transaction() as connection:
        await connection.execute("INSERT INTO public.effects (n, job_id) VALUES (%s, %s)", [n, ctx.job_id])
    return "booked"


@job(queue="mail", lease=LEASE, retry=SOON)
async def send(n: int) -> int:
    return n


@job(queue="mail", lease=LEASE, retry=SOON)
async def render(ctx: Context, n: int) -> int:
    """Longer than a lease now and then."""
    for step in range(10):
        ctx.progress(step / 10)
        await asyncio.sleep(random.uniform(0.05, 0.5))
    return n


@job(queue="mail", lease=LEASE, retry=Retry(max_attempts=3, base=0.1))
async def flaky(ctx: Context, n: int) -> int:
    if ctx.attempt == 1:
        raise ConnectionError("the first time it always fails")
    return n


@job(queue="orders", lease=LEASE, on_crash="unknown", on_unknown="look_up")
def charge(ctx: Context, n: int) -> str:
    """Must not begin twice, whatever happens."""
    note("charged", n, ctx.job_id, ctx.token)
    return "charged"


@job(queue="orders", lease=LEASE, retry=SOON)
def look_up(job_id: int, args: dict[str, Any]) -> str:
    """The reconciler of `charge`: asks the ledger whether the charge was made."""
    with psycopg.connect(os.environ["DAY_LEDGER"], autocommit=True) as connection:
        found = connection.execute("SELECT 1 FROM public.notes WHERE what = 'charged' AND n = %s", [args["n"]])
        was_charged = found.fetchone() is not None
    with Client(os.environ["DAY_LEDGER"]) as client:
        if client.get(job_id).state == "unknown":
            client.resolve(job_id, "completed" if was_charged else "discarded", "asked the ledger")
    return "charged" if was_charged else "never charged"


@job(queue="mail", lease=LEASE, retry=SOON)
async def refresh(n: int) -> int:
    await asyncio.sleep(0.05)
    return n
