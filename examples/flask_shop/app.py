"""The web side: a new price and the job that prints it are one transaction.

cd examples
export HOWDAH_DSN=postgresql+psycopg://localhost/shop
howdah migrate
flask --app flask_shop.app run                    # the web
howdah worker -m flask_shop.jobs -q printing:2    # the workers
"""

from __future__ import annotations

from flask import Flask, request
from flask.typing import ResponseReturnValue

from flask_shop.database import PriceTag, Product, create_tables, sessions
from flask_shop.jobs import print_price_tag

app = Flask(__name__)
create_tables()


@app.put("/products/<int:product_id>")
def set_price(product_id: int) -> ResponseReturnValue:
    """Set a product's name and price. Of many changes only the newest is printed: the subject supersedes the others."""
    new = request.get_json()
    with sessions.begin() as session:
        session.merge(Product(id=product_id, name=new["name"], cents=new["cents"]))
        newest = print_price_tag.options(subject=f"product:{product_id}")
        enqueued = newest.enqueue(session, product_id=product_id)
    return {"job": enqueued.id}, 202


@app.get("/products/<int:product_id>/tag")
def show_tag(product_id: int) -> ResponseReturnValue:
    """What the shelf shows."""
    with sessions() as session:
        tag = session.get(PriceTag, product_id)
    return {"text": tag.text if tag else None}
