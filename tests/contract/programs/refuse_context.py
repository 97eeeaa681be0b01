"""A Context, used wrongly."""

from howdah import Context


async def wrong(ctx: Context) -> None:
    ctx.cancel_requested = "lost"  # error: reportAttributeAccessIssue
    if ctx.cancel_requested == "paused":  # error: reportUnnecessaryComparison
        pass
    ctx.progress("half")  # error: reportArgumentType
    ctx.progress(percent=50)  # error: reportCallIssue
    ctx.extend("5 minutes")  # error: reportArgumentType
    await ctx.extend(30)  # error: reportGeneralTypeIssues
    await ctx.progress(0.5)  # error: reportGeneralTypeIssues
