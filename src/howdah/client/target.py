"""What `on` may be: a client, or a connection or session of the user's, whose transaction stays the user's."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import psycopg

from howdah.model.job import Enqueued, NewJob
from howdah.store import enqueueing
from howdah.store.connections import is_sqlalchemy, speaking_psycopg
from howdah.store.drivers import on_async_psycopg, on_async_sqlalchemy, on_psycopg, on_sqlalchemy, run, run_async
from howdah.store.operation import Operation
from howdah.store.trouble import schema_errors

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy.ext import asyncio as sa_asyncio
    from sqlalchemy.orm import Session, scoped_session

    from howdah.client.async_client import AsyncClient
    from howdah.client.client import Client

SyncTarget: TypeAlias = "Client | psycopg.Connection[Any] | sa.Connection | Session | scoped_session[Any]"
AsyncTarget: TypeAlias = "AsyncClient | psycopg.AsyncConnection[Any] | sa_asyncio.AsyncConnection | sa_asyncio.AsyncSession | sa_asyncio.async_scoped_session[Any]"  # noqa: E501  one literal, or pyright cannot read it
T = TypeVar("T")

SYNC = "a Client, a psycopg.Connection, or SQLAlchemy's Connection, Session or scoped_session"
ASYNC = (
    "an AsyncClient, a psycopg.AsyncConnection, or SQLAlchemy's AsyncConnection, AsyncSession or async_scoped_session"
)


def enqueue(on: object, job: NewJob) -> Enqueued | Coroutine[Any, Any, Enqueued]:
    """Enqueue on a target: an answer from a blocking one, a coroutine from an async one."""
    return _run(on, enqueueing.enqueue(job))


def enqueue_many(on: object, jobs: Sequence[NewJob]) -> list[Enqueued] | Coroutine[Any, Any, list[Enqueued]]:
    """As `enqueue`, for many; in one transaction unless the target is on autocommit."""
    return _run(on, enqueueing.enqueue_many(jobs), atomic=True)


def run_on(on: object, operation: Operation[T]) -> T:
    """Run an operation in the transaction of a blocking target. Raises TypeError for any other."""
    with schema_errors():
        if isinstance(on, psycopg.Connection):
            return run(on_psycopg(on), operation)
        if is_sqlalchemy(on, "orm.scoping.scoped_session"):
            on = on()  # type: ignore[operator]
        if is_sqlalchemy(on, "orm.session.Session"):
            on = on.connection()  # type: ignore[attr-defined]
        if is_sqlalchemy(on, "engine.base.Connection"):
            return run(on_sqlalchemy(speaking_psycopg(on)), operation)
    raise TypeError(_refusal(on, SYNC))


async def run_on_async(on: object, operation: Operation[T]) -> T:
    """Run an operation in the transaction of an async target. Raises TypeError for any other."""
    with schema_errors():
        if isinstance(on, psycopg.AsyncConnection):
            return await run_async(on_async_psycopg(on), operation)
        if is_sqlalchemy(on, "ext.asyncio.scoping.async_scoped_session"):
            on = on()  # type: ignore[operator]
        if is_sqlalchemy(on, "ext.asyncio.session.AsyncSession"):
            on = await on.connection()  # type: ignore[attr-defined]
        if is_sqlalchemy(on, "ext.asyncio.engine.AsyncConnection"):
            return await run_async(on_async_sqlalchemy(speaking_psycopg(on)), operation)
    raise TypeError(_refusal(on, ASYNC))


def is_async(on: object) -> bool:
    """Whether a target is awaited."""
    return (
        isinstance(on, psycopg.AsyncConnection)
        or getattr(on, "__howdah_async_client__", False)
        or any(cls.__module__.startswith("sqlalchemy.ext.asyncio") for cls in type(on).__mro__)
    )


def _run(on: object, operation: Operation[T], *, atomic: bool = False) -> T | Coroutine[Any, Any, T]:
    own = getattr(on, "__howdah_run__", None)
    if own is not None:
        return own(operation, atomic)  # type: ignore[no-any-return]
    return run_on_async(on, operation) if is_async(on) else run_on(on, operation)


def _refusal(on: object, allowed: str) -> str:
    name = f"{type(on).__module__}.{type(on).__qualname__}"
    twin = ""
    if allowed is SYNC and is_async(on):
        twin = "; use AsyncClient or await it on an async target"
    elif allowed is ASYNC and _is_blocking(on):
        twin = "; use Client or a target that is awaited"
    return f"on: {name} is not a target here{twin}. It takes {allowed}"


def _is_blocking(on: object) -> bool:
    names = ("engine.base.Connection", "orm.session.Session", "orm.scoping.scoped_session")
    return (
        isinstance(on, psycopg.Connection)
        or hasattr(on, "__howdah_run__")
        or any(is_sqlalchemy(on, name) for name in names)
    )
