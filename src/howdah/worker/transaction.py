"""The transaction that a handler shares with the report of its attempt."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any

from howdah.model.job import ClaimedJob, JobState
from howdah.model.outcome import Report
from howdah.worker.source import AttemptTransaction

if TYPE_CHECKING:
    import psycopg


class Transaction:
    """What `ctx.transaction()` gives. Leaving its block commits nothing: the commit is that of the attempt's report.

    An exception that leaves the block rolls back. The methods without underscores belong to the worker.
    """

    def __init__(self, under: AttemptTransaction, *, is_async: bool) -> None:
        self.is_open = False
        self.rolled_back = False
        self._under = under
        self._is_async = is_async
        self._undoing: asyncio.Future[None] | None = None

    def __enter__(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._is_async:
            raise RuntimeError("this handler is async: write `async with ctx.transaction(…) as …`")
        self._begin()
        try:
            return self._under.open()  # type: ignore[no-any-return]
        except BaseException:
            self.abandon()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abandon()
            return
        try:
            self._under.flush()
        except BaseException:
            self.abandon()
            raise

    async def __aenter__(self) -> psycopg.AsyncConnection[tuple[Any, ...]]:
        if not self._is_async:
            raise RuntimeError("this handler is not async: write `with ctx.transaction(…) as …`")
        self._begin()
        try:
            return await self._under.aopen()  # type: ignore[no-any-return]
        except BaseException:
            await self.aabandon()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            await self.aabandon()
            return
        try:
            await self._under.aflush()
        except BaseException:
            await self.aabandon()
            raise

    def settle(self, job: ClaimedJob, report: Report) -> JobState:
        """Commit together with the report."""
        state = self._under.settle(job, report)
        self.is_open = False
        return state

    def abandon(self) -> None:
        """Roll back, if there is something to roll back."""
        self.rolled_back = True
        if self.is_open:
            self._under.abandon()
            self.is_open = False

    async def asettle(self, job: ClaimedJob, report: Report) -> JobState:
        """Commit together with the report."""
        state = await self._under.asettle(job, report)
        self.is_open = False
        return state

    async def aabandon(self) -> None:
        """Roll back, if there is something to roll back."""
        self.rolled_back = True
        if self.is_open:
            # Shielded, since a second cancel request may come meanwhile: the worker then waits for the same rollback.
            self._undoing = self._undoing or asyncio.ensure_future(self._under.aabandon())
            await asyncio.shield(self._undoing)
            self.is_open = False

    def _begin(self) -> None:
        if self.is_open or self.rolled_back:
            raise RuntimeError("an attempt has one transaction, and its block has been entered already")
        self.is_open = True
