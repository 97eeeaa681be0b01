"""The shop's kinds."""

from __future__ import annotations

from howdah import Context, Retry, job


@job(queue="mail", retry=Retry(max_attempts=5))
async def send_mail(to: str, text: str) -> None:
    """Send a mail."""


@job
def charge(ctx: Context, order: int) -> str:
    """Charge an order, in the same commit as this job's completion."""
    with ctx.transaction() as connection:
        connection.execute("UPDATE orders SET paid = true WHERE id = %s", [order])
    return "paid"
