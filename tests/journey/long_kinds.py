"""Handlers that take far longer than their leases."""

from __future__ import annotations

import asyncio
import time

from howdah import Cancel, Context, job
from tests.journey.kinds import QUICK, trace


@job(lease=3.0, retry=QUICK)
async def long_async(ctx: Context, seconds: float) -> str:
    await asyncio.to_thread(trace, "began", ctx.job_id, ctx.token)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        await asyncio.to_thread(trace, f"saw {ctx.cancel_requested}", ctx.job_id, ctx.token)
        raise
    return "to the end"


@job(lease=3.0, retry=QUICK)
def long_sync(ctx: Context, seconds: float) -> str:
    trace("began", ctx.job_id, ctx.token)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if ctx.cancel_requested in ("cancelled", "superseded"):
            trace(f"saw {ctx.cancel_requested}", ctx.job_id, ctx.token)
            raise Cancel("told")
        time.sleep(0.05)
    return "to the end"
