"""The shop's tables, and how it reaches them."""

from __future__ import annotations

from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, sessionmaker
from sqlalchemy.pool import NullPool

from howdah.store.dsn import sqlalchemy_url

# No pool: a page's blocks run in more than one event loop.
engine = create_engine(sqlalchemy_url(None), poolclass=NullPool)
async_engine = create_async_engine(sqlalchemy_url(None), poolclass=NullPool)
sessions = sessionmaker(engine)
async_sessions = async_sessionmaker(async_engine)


class Base(DeclarativeBase):
    """The shop's tables."""


class Order(Base):
    """What somebody ordered, and whether it has been paid."""

    __tablename__ = "orders"

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    paid: Mapped[bool] = mapped_column(default=False)
