"""How an attempt ends: an outcome is returned or raised, or a JSON value is the result."""

from datetime import timedelta

from howdah import Cancel, Complete, Context, Discard, Fail, Outcome, Release, RetryAfter, Snooze, job


@job
def poll(ctx: Context, url: str) -> Outcome | dict[str, str]:
    if not url:
        return Discard("no url")
    if ctx.attempt > 100:
        raise Cancel("nobody waits any more")
    if url.startswith("slow:"):
        return Snooze(30)
    if url.startswith("busy:"):
        return RetryAfter(timedelta(minutes=1))
    if url.startswith("broken:"):
        return Fail("it is broken", retry_in=5)
    if url.startswith("gone:"):
        raise Fail(ValueError(url), permanent=True)
    if url.startswith("other:"):
        return Release("not on this machine", excused=False)
    if url.startswith("empty:"):
        return Complete()
    return {"url": url}


@job
async def fetch(url: str) -> Complete:
    return Complete({"length": len(url)})
