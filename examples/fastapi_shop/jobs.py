"""What the shop does behind the request. It imports nothing of the web: workers need only this."""

from __future__ import annotations

from fastapi_shop.database import Order, sessions
from howdah import Context, Discard, Retry, job


@job(queue="payments", retry=Retry(max_attempts=5, base=2.0))
async def charge(ctx: Context, order_id: int) -> str:
    """The order, the receipt's job and this job's completion are one commit: no order is charged twice."""
    async with ctx.transaction(sessions) as session:
        order = await session.get(Order, order_id, with_for_update=True)
        if order is None:
            raise Discard(f"there is no order {order_id}")
        order.paid = True
        await send_receipt.enqueue(session, to=order.email, cents=order.cents)
    return "paid"


@job(queue="mail")
async def send_receipt(to: str, cents: int) -> str:
    """At least once: a worker that dies after the mail has left sends it again."""
    return f"told {to} that {cents / 100:.2f} were paid"
