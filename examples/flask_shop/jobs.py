"""What the shop does behind the request. It imports nothing of the web: workers need only this."""

from __future__ import annotations

from flask_shop.database import PriceTag, Product, sessions
from howdah import Context, job


@job(queue="printing", lease=30)
def print_price_tag(ctx: Context, product_id: int) -> str:
    """A sync handler, which runs in a thread. The tag and the completion of this job are one commit."""
    with ctx.transaction(sessions) as session:
        product = session.get_one(Product, product_id)
        text = f"{product.name}: {product.cents / 100:.2f}"
        session.merge(PriceTag(product_id=product_id, text=text))
        return text
