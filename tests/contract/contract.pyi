# ruff: noqa: PYI001, PYI021, E501  a contract is read by people, and its type variables have the names that errors show
"""Howdah's public contract as types: what `from howdah import …` gives. Names, parameters and defaults are fixed."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime, timedelta
from enum import StrEnum
from types import ModuleType, TracebackType
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

import psycopg
import psycopg_pool
import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_asyncio
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_scoped_session, async_sessionmaker
from sqlalchemy.orm import Session, scoped_session, sessionmaker

P = ParamSpec("P")  # what enqueue takes
C = ParamSpec("C")  # what a direct call takes: P, or Context first and then P
R = TypeVar("R", covariant=True)
S = TypeVar("S", bound=Session)
AS = TypeVar("AS", bound=AsyncSession)

JSON: TypeAlias = Any
Seconds: TypeAlias = float | timedelta
OnCrash: TypeAlias = Literal["retry", "discard", "unknown"]
OnSupersede: TypeAlias = Literal["cancel", "finish"]
SyncTarget: TypeAlias = Client | psycopg.Connection[Any] | sa.Connection | Session | scoped_session[Any]
AsyncTarget: TypeAlias = (
    AsyncClient | psycopg.AsyncConnection[Any] | sa_asyncio.AsyncConnection | AsyncSession | async_scoped_session[Any]
)

class Options(TypedDict, total=False):
    queue: str
    priority: int
    delay: Seconds
    run_at: datetime  # with a time zone
    expires_in: Seconds
    max_attempts: int  # instead of the kind's
    key: str
    key_for: Seconds
    subject: str
    lane: str  # later: until then InvalidOption
    headers: Mapping[str, str]
    tags: Sequence[str]

class Retry:  # frozen
    max_attempts: int
    base: float
    factor: float
    cap: float
    jitter: float
    def __init__(
        self, max_attempts: int = 10, base: float = 5.0, factor: float = 2.0, cap: float = 3600.0, jitter: float = 0.2
    ) -> None: ...

class JobState(StrEnum):
    SCHEDULED = "scheduled"
    BLOCKED = "blocked"
    AVAILABLE = "available"
    RUNNING = "running"
    UNKNOWN = "unknown"
    COMPLETED = "completed"
    DISCARDED = "discarded"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"

class Enqueued:  # frozen
    id: int
    created: bool  # False: a live job with this key was there already, and this is its id

class NewJob: ...  # checked args and options, not enqueued yet

class Lease:  # frozen; can be rebuilt from its fields, so that it can travel
    job_id: int
    token: int
    worker: str
    expires_at: datetime
    def __init__(self, job_id: int, token: int, worker: str, expires_at: datetime) -> None: ...

class ClaimedJob:
    id: int
    kind: str
    args: dict[str, Any]
    queue: str
    attempt: int
    max_attempts: int
    key: str | None
    subject: str | None
    needs_start: bool  # call start(lease) before the first instruction
    headers: Mapping[str, str]
    lease: Lease

class AttemptError:
    attempt: int
    at: datetime
    event: Literal["failed", "crashed", "timeout", "released", "undecodable", "late"]
    type: str
    message: str
    traceback: str | None
    worker: str | None

class Job:  # a row of howdah.all_jobs
    id: int
    kind: str
    queue: str
    state: JobState
    priority: int
    args: dict[str, Any]
    result: JSON
    attempt: int
    excused: int
    max_attempts: int
    key: str | None
    subject: str | None
    superseded_by: int | None
    worker: str | None
    run_at: datetime
    created_at: datetime
    started_at: datetime | None
    lease_expires_at: datetime | None
    finished_at: datetime | None
    progress: JSON
    errors: Sequence[AttemptError]
    headers: Mapping[str, str]
    tags: Sequence[str]

class Reaped:
    retried: int
    discarded: int
    unknown: int
    superseded: int
    cancelled: int

class Drained:
    completed: int
    failed: int
    discarded: int
    snoozed: int
    cancelled: int

class Outcome(Exception): ...  # returned or raised; raised inside ctx.transaction() it also rolls that back

class Complete(Outcome):
    def __init__(self, result: JSON = None) -> None: ...

class Fail(Outcome):
    def __init__(
        self, error: str | BaseException, *, retry_in: Seconds | None = None, permanent: bool = False
    ) -> None: ...

class RetryAfter(Outcome):  # counts as an attempt
    def __init__(self, seconds: Seconds) -> None: ...

class Snooze(Outcome):  # excused
    def __init__(self, seconds: Seconds) -> None: ...

class Release(Outcome):
    def __init__(self, reason: str, *, excused: bool = True) -> None: ...

class Cancel(Outcome):
    def __init__(self, reason: str) -> None: ...

class Discard(Outcome):
    def __init__(self, reason: str) -> None: ...

class Transaction:  # psycopg: `with` in sync handlers, `async with` in async ones; the wrong one raises RuntimeError at once
    def __enter__(self) -> psycopg.Connection[tuple[Any, ...]]: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    async def __aenter__(self) -> psycopg.AsyncConnection[tuple[Any, ...]]: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

class Context:  # one class for sync and async handlers: nothing on it is awaited
    job_id: int
    kind: str
    queue: str
    attempt: int
    token: int
    lease: Lease
    headers: Mapping[str, str]
    @property
    def lease_expires_at(self) -> datetime: ...
    @property
    def cancel_requested(self) -> Literal["cancelled", "superseded", "timeout", "stopping", "lost"] | None: ...
    def progress(self, fraction: float | None = None, stage: str | None = None, detail: JSON = None) -> None: ...
    def extend(self, seconds: Seconds) -> None: ...
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

class Kind(Generic[C, P, R]):  # what @job returns
    name: str
    def __call__(self, *args: C.args, **kwargs: C.kwargs) -> R: ...
    @overload
    def enqueue(self, on: SyncTarget, /, *args: P.args, **kwargs: P.kwargs) -> Enqueued: ...
    @overload
    def enqueue(self, on: AsyncTarget, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, Enqueued]: ...
    @overload
    def enqueue_many(self, on: SyncTarget, jobs: Iterable[NewJob | Mapping[str, Any]], /) -> list[Enqueued]: ...
    @overload
    def enqueue_many(
        self, on: AsyncTarget, jobs: Iterable[NewJob | Mapping[str, Any]], /
    ) -> Coroutine[Any, Any, list[Enqueued]]: ...
    def new(self, *args: P.args, **kwargs: P.kwargs) -> NewJob: ...
    def options(self, **options: Unpack[Options]) -> Self: ...

AnyKind: TypeAlias = Kind[..., ..., Any]

class KindDecorator(Protocol):
    @overload
    def __call__(self, handler: Callable[Concatenate[Context, P], R], /) -> Kind[Concatenate[Context, P], P, R]: ...
    @overload
    def __call__(self, handler: Callable[P, R], /) -> Kind[P, P, R]: ...

@overload
def job(handler: Callable[Concatenate[Context, P], R], /) -> Kind[Concatenate[Context, P], P, R]: ...
@overload
def job(handler: Callable[P, R], /) -> Kind[P, P, R]: ...
@overload
def job(
    *,
    kind: str | None = None,  # default: the function's name
    queue: str = "default",
    retry: Retry = ...,  # Retry(); Retry(max_attempts=1) when on_crash="unknown" and nothing is said
    lease: Seconds = 60.0,
    timeout: Seconds | None = None,
    stall_timeout: Seconds | None = None,
    on_crash: OnCrash = "retry",
    on_supersede: OnSupersede = "cancel",
    on_discard: str | AnyKind | None = None,
    on_unknown: str | AnyKind | None = None,
) -> KindDecorator: ...

class Client:
    def __init__(
        self, source: str | psycopg_pool.ConnectionPool[Any] | sa.Engine | None = None
    ) -> None: ...  # None: HOWDAH_DSN
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...
    def close(self) -> None: ...
    def migrate(self) -> None: ...
    def enqueue(
        self, kind: str, args: Mapping[str, Any], *, on: SyncTarget | None = None, **options: Unpack[Options]
    ) -> Enqueued: ...
    def enqueue_many(self, jobs: Iterable[NewJob], *, on: SyncTarget | None = None) -> list[Enqueued]: ...
    def load(
        self, jobs: Iterable[NewJob], *, on: SyncTarget | None = None
    ) -> int: ...  # COPY: no ids, keys or subjects
    def new(self, kind: str, args: Mapping[str, Any], **options: Unpack[Options]) -> NewJob: ...
    def claim(
        self, queues: Sequence[str] = ("default",), *, limit: int = 1, worker: str, lease: Seconds | None = None
    ) -> list[ClaimedJob]: ...
    def claim_job(self, job_id: int, *, worker: str, lease: Seconds | None = None) -> ClaimedJob: ...
    def start(self, lease: Lease) -> Lease: ...
    def extend(self, lease: Lease, seconds: Seconds) -> Lease: ...
    def complete(self, lease: Lease, result: JSON = None, *, on: SyncTarget | None = None) -> JobState: ...
    def fail(
        self, lease: Lease, error: str | BaseException, *, retry_in: Seconds | None = None, permanent: bool = False
    ) -> JobState: ...
    def snooze(self, lease: Lease, seconds: Seconds) -> JobState: ...
    def release(self, lease: Lease, reason: str, *, excused: bool = True) -> JobState: ...
    def settle_many(self, outcomes: Iterable[tuple[Lease, Outcome]]) -> list[LeaseLost]: ...
    def reap(self, limit: int = 1000) -> Reaped: ...
    def sweep(self) -> Mapping[str, int]: ...  # one pass of reaper, promoter, pruner
    def get(self, job_id: int) -> Job: ...
    def wait(self, job_id: int, timeout: Seconds) -> Job: ...
    def cancel(self, job_id: int) -> Job: ...
    def requeue(self, job_id: int) -> Job: ...
    def resolve(self, job_id: int, state: Literal["completed", "discarded", "available"], note: str) -> Job: ...
    def pause(self, queue: str) -> None: ...
    def resume(self, queue: str) -> None: ...

class AsyncClient:
    """As Client, with `async def`, the async targets, `async with` and `aclose()`; bound to the event loop of its first use."""
    def __init__(self, source: str | psycopg_pool.AsyncConnectionPool[Any] | AsyncEngine | None = None) -> None: ...
    async def enqueue(
        self, kind: str, args: Mapping[str, Any], *, on: AsyncTarget | None = None, **options: Unpack[Options]
    ) -> Enqueued: ...

class Worker:
    def __init__(
        self,
        dsn: str | None = None,
        kinds: Iterable[ModuleType | AnyKind] = (),
        *,
        queues: Mapping[str, int] | None = None,  # {"default": 10}: queue → slots
        lifespan: Callable[[], AbstractAsyncContextManager[None]] | None = None,
        middleware: Sequence[Middleware] = (),
        observers: Sequence[Observer] = (),
        grace: Seconds = 30.0,
        poll: Seconds = 1.0,
        threads: int | None = None,  # as many as slots
    ) -> None: ...
    def run(self) -> None: ...  # installs the signal handlers; main thread
    async def run_async(self) -> None: ...  # never does; cancelling it is a graceful stop
    def drain(self, *, limit: int | None = None, timeout: Seconds | None = None) -> Drained: ...
    async def drain_async(self, *, limit: int | None = None, timeout: Seconds | None = None) -> Drained: ...
    def stop(self) -> None: ...  # thread-safe

class Middleware(Protocol):
    async def __call__(
        self, job: ClaimedJob, call_next: Callable[[ClaimedJob], Coroutine[Any, Any, Any]], /
    ) -> Any: ...

class Observer(Protocol):
    def __call__(self, event: Any, /) -> None: ...

class HowdahError(Exception): ...

class InvalidArgs(HowdahError, ValueError):
    kind: str
    field: str | None

class InvalidOption(HowdahError, ValueError):
    name: str
    value: object

class LeaseLost(HowdahError):
    lease: Lease
    state: JobState | None
    reason: Literal["expired", "taken", "superseded", "cancelled", "finished", "pruned"]

class JobNotFound(HowdahError):
    job_id: int

class JobNotClaimable(HowdahError):
    job_id: int
    state: JobState
    worker: str | None
    lease_expires_at: datetime | None

class InvalidTransition(HowdahError):
    job_id: int
    state: JobState
    event: str

class SchemaMismatch(HowdahError): ...
class Unreachable(HowdahError, ConnectionError): ...
