"""The web side: an order and its job are one transaction, committed by the same `begin`.

cd examples
export HOWDAH_DSN=postgresql+psycopg://localhost/shop
howdah migrate
uvicorn fastapi_shop.app:app                                  # the web
howdah worker -m fastapi_shop.jobs -q payments:5 -q mail:5    # the workers: processes of their own, as many as needed
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException
from pydantic import BaseModel, PositiveInt
from sqlalchemy.ext.asyncio import AsyncSession

from fastapi_shop.database import Order, create_tables, engine, sessions
from fastapi_shop.jobs import charge


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open and close what the web process uses."""
    await create_tables()
    yield
    await engine.dispose()


app = FastAPI(lifespan=lifespan)


async def transaction() -> AsyncIterator[AsyncSession]:
    """One transaction for a request: committed if the handler returns, rolled back if it raises."""
    async with sessions.begin() as session:
        yield session


# "function": the commit comes before the response, so that an answer of 201 means that order and job are there.
Transaction = Annotated[AsyncSession, Depends(transaction, scope="function")]


class NewOrder(BaseModel):
    """What a customer sends."""

    email: str
    cents: PositiveInt


@app.post("/orders", status_code=201)
async def create_order(new: NewOrder, session: Transaction) -> dict[str, int]:
    """Take an order. It is charged by a worker, and only if this commits."""
    order = Order(email=new.email, cents=new.cents)
    session.add(order)
    await session.flush()  # gives the order its id
    enqueued = await charge.enqueue(session, order_id=order.id)
    return {"order": order.id, "job": enqueued.id}


@app.get("/orders/{order_id}")
async def show_order(order_id: int, session: Transaction) -> dict[str, bool]:
    """Whether an order has been paid."""
    order = await session.get(Order, order_id)
    if order is None:
        raise HTTPException(404, f"there is no order {order_id}")
    return {"paid": order.paid}
