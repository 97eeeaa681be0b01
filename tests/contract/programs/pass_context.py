"""What a handler may ask of its Context."""

from datetime import datetime
from typing import assert_type

from howdah import Context, Lease, job


@job
def reads(ctx: Context) -> None:
    assert_type(ctx.job_id, int)
    assert_type(ctx.lease, Lease)
    assert_type(ctx.lease_expires_at, datetime)
    assert_type(ctx.headers.get("traceparent"), str | None)
    if ctx.cancel_requested == "stopping":
        return
    ctx.progress(0.5, "half", {"rows": 3})
    ctx.extend(300)
