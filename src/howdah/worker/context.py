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
        self.headers = job.headers
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

        Raises ValueError for another fraction, for what PostgreSQL cannot hold, or over 16 KiB.
        """
        if fraction is not None and not (isinstance(fraction, int | float) and 0 <= fraction <= 1):
            raise InvalidOption("fraction", fraction, "must be a number from 0 to 1")
        said = {"fraction": fraction, "stage": stage, "detail": detail}
        self._attempt.progress = encode({k: v for k, v in said.items() if v is not None}, limit=MAX_PROGRESS)

    def extend(self, seconds: Seconds) -> None:
        """Ask for a lease that ends no earlier than `seconds` from now. Raises InvalidOption."""
        self._attempt.wanted_until = self._clock() + check_lease(seconds, "seconds")
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
        """The attempt's one transaction, committed together with what the handler returns.

        Raises RuntimeError for a second one.
        """
        if source is not None:
            raise InvalidOption("source", source, "sessions and engines come with a later release")
        if self._attempt.transaction is not None:
            raise RuntimeError("an attempt has one transaction: keep what ctx.transaction() gave")
        self._attempt.transaction = Transaction(self._source.transaction(), is_async=self._is_async)
        return self._attempt.transaction
