"""Where the shop's data is: one engine for each process, and one model."""

from __future__ import annotations

import os

from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# postgresql+psycopg://user@host/shop: SQLAlchemy and Howdah understand the same URL.
engine = create_async_engine(os.environ["HOWDAH_DSN"])
sessions = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase):
    """The shop's tables."""


class Order(Base):
    """What somebody ordered, and whether it has been paid."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    cents: Mapped[int]
    paid: Mapped[bool] = mapped_column(default=False)


async def create_tables() -> None:
    """For the example; a service of yours has Alembic for this."""
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
