"""What a handler may know and say while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar, overload

from howdah.model.errors import InvalidOption
from howdah.model.job import JSON, Lease
from howdah.model.json_text import encode
from howdah.model.limits import Seconds, check_lease
from howdah.worker.attempt import Attempt, CancelRequest
from howdah.worker.source import JobSource
from howdah.worker.transaction import Transaction

if TYPE_CHECKING:
    import sqlalchemy as sa
    from sqlalchemy.ext import asyncio as sa_asyncio
    from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker
    from sqlalchemy.orm import Session, sessionmaker

# Bounds by name: the worker imports no database at run time.
S = TypeVar("S", bound="Session")
AS = TypeVar("AS", bound="AsyncSession")

MAX_PROGRESS = 16 * 1024  # bytes of JSON: it lies on the hot row, which every extension copies


class Context:
    """The first argument of a handler that asks for it; the same for sync and async handlers: nothing is awaited."""

    __howdah_context__ = True

    job_id: int
    kind: str
    queue: str
    attempt: int
    token: int
    lease: Lease
    headers: Mapping[str, str]

    def __init__(
        self,
        attempt: Attempt,
        source: JobSource,
        *,
        is_async: bool,
        headers: Mapping[str, str],
        wake_keeper: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        job = attempt.job
        self.job_id = job.id
        self.kind = job.kind
        self.queue = job.queue
        self.attempt = job.attempt
        self.token = job.lease.token
        self.lease = job.lease
        self.headers = headers
        self._attempt = attempt
        self._source = source
        self._is_async = is_async
        self._wake_keeper = wake_keeper
        self._clock = clock

    @property
    def lease_expires_at(self) -> datetime:
        """When the lease ends unless it is extended, by the database's clock. The worker extends it in time."""
        return self._attempt.expires_at or self.lease.expires_at

    @property
    def cancel_requested(self) -> CancelRequest | None:
        """Why the handler is asked to end, or None. Once it is `"lost"`, whatever the handler returns is refused."""
        return self._attempt.cancel

    def progress(self, fraction: float | None = None, stage: str | None = None, detail: JSON = None) -> None:
        """Say how far it is, from 0 to 1. The newest value goes out with the next heartbeat, if it still runs then.

        This is a sign of life too: a kind with a `stall_timeout` keeps its lease as long as it comes often enough.
        Raises ValueError for another fraction, for what PostgreSQL cannot hold, or over 16 KiB.
        """
        if fraction is not None and not (isinstance(fraction, int | float) and 0 <= fraction <= 1):
            raise InvalidOption("fraction", fraction, "must be a number from 0 to 1")
        self._attempt.heard_at = self._clock()
        said = {"fraction": fraction, "stage": stage, "detail": detail}
        self._attempt.progress = encode({k: v for k, v in said.items() if v is not None}, limit=MAX_PROGRESS)

    def extend(self, seconds: Seconds) -> None:
        """Ask for a lease that ends no earlier than `seconds` from now. Raises InvalidOption."""
        seconds = check_lease(seconds, "seconds")
        self._attempt.heard_at = now = self._clock()
        self._attempt.wanted_until = now + seconds
        self._wake_keeper()

    @overload
    def transaction(self) -> Transaction: ...
    @overload
    def transaction(self, source: sessionmaker[S]) -> AbstractContextManager[S]: ...
    @overload
    def transaction(self, source: sa.Engine) -> AbstractContextManager[sa.Connection]: ...
    @overload
    def transaction(self, source: async_sessionmaker[AS]) -> AbstractAsyncContextManager[AS]: ...
    @overload
    def transaction(self, source: AsyncEngine) -> AbstractAsyncContextManager[sa_asyncio.AsyncConnection]: ...
    def transaction(self, source: Any = None) -> Any:
        """The attempt's one transaction, at READ COMMITTED, committed together with what the handler returns.

        Its block (`with` in a sync handler, `async with` in an async one) gives a psycopg connection of the worker's;
        of a sessionmaker a session, of an Engine a connection, of their async twins the async ones. Leaving the block
        writes what the session holds and commits nothing; what was read there can be used until the handler returns.
        `commit()` inside commits nothing, and `rollback()` fails the attempt.

        Raises RuntimeError for a second one and for a source of the other world (sync or async); TypeError for
        another source, or one whose driver is not psycopg; InvalidOption, when the block is entered, for a source
        that leads to another database than the worker's.
        """
        if self._attempt.ended:
            raise RuntimeError("the attempt is over: nothing would commit this transaction")
        if self._attempt.transaction is not None:
            raise RuntimeError("an attempt has one transaction: keep what ctx.transaction() gave")
        under = self._source.transaction(source, is_async=self._is_async)
        self._attempt.transaction = Transaction(under, is_async=self._is_async)
        return self._attempt.transaction
