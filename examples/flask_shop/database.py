"""Where the shop's data is: one engine for each process, and its models."""

from __future__ import annotations

import os

from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker

# postgresql+psycopg://user@host/shop: SQLAlchemy and Howdah understand the same URL.
engine = create_engine(os.environ["HOWDAH_DSN"])
sessions = sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase):
    """The shop's tables."""


class Product(Base):
    """Something for sale."""

    __tablename__ = "products"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    cents: Mapped[int]


class PriceTag(Base):
    """What the shelf shows. Printing one is slow, so it is a job."""

    __tablename__ = "price_tags"

    product_id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


def create_tables() -> None:
    """For the example; a service of yours has Alembic for this."""
    Base.metadata.create_all(engine)
