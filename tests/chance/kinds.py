"""Kinds whose handlers do what their args say, for workers in processes of their own."""

from __future__ import annotations

import os
import time

from howdah import Cancel, Context, Discard, Release, Retry, Snooze, job

SOON = Retry(max_attempts=4, base=0.02, factor=1.5, cap=0.2)


def act(ctx: Context, plan: list[str]) -> str:
    """The attempt's step of the plan; what is over the plan succeeds."""
    step = plan[ctx.attempt - 1] if ctx.attempt <= len(plan) else "succeed"
    match step:
        case "fail":
            raise ValueError("as planned")
        case "snooze":
            raise Snooze(0.02)
        case "release":
            raise Release("as planned", excused=True)
        case "refuse":
            raise Release("as planned", excused=False)
        case "cancel":
            raise Cancel("as planned")
        case "discard":
            raise Discard("as planned")
        case "linger":
            time.sleep(0.3)
        case "crash" if "HOWDAH_TEST_HARMLESS" not in os.environ:
            os._exit(1)
    return step


@job(kind="plain", lease=1.0, retry=SOON)
def plain(ctx: Context, plan: list[str]) -> str:
    return act(ctx, plan)


@job(kind="paid", lease=1.0, retry=SOON, on_discard="landed")
def paid(ctx: Context, plan: list[str]) -> str:
    with ctx.transaction() as connection:
        connection.execute("INSERT INTO public.effects VALUES (%s, %s)", [ctx.job_id, ctx.token])
        return act(ctx, plan)


@job(kind="once", lease=1.0, on_crash="unknown")
def once(ctx: Context, plan: list[str]) -> str:
    return act(ctx, plan)


@job(kind="landed", lease=1.0)
def landed(job_id: int) -> int:
    return job_id
