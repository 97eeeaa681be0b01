"""A source of jobs in memory, and short ways to make jobs, handlers and workers."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from howdah.model.errors import LeaseLost
from howdah.model.job import ClaimedJob, JobState, Lease, Policy, Vitals, WorkerInfo
from howdah.model.lease import Answer, CancelReason, Extended, Extension
from howdah.model.outcome import Event, Report
from howdah.model.source_errors import BatchRefused
from howdah.worker.context import Context
from howdah.worker.handler import Handler
from howdah.worker.loop import WorkLoop
from howdah.worker.settings import WorkerSettings
from howdah.worker.source import Settled

DEADLINE = 5.0  # seconds after which a test has failed; none comes near
WORKER = WorkerInfo("w1", "here", 1, "0")
THEN = datetime(2026, 1, 1, tzinfo=UTC)

_ids = itertools.count(1)


def job(kind: str = "noop", **fields: Any) -> ClaimedJob:
    number = next(_ids)
    told: dict[str, Any] = {
        "id": number,
        "kind": kind,
        "args": {},
        "queue": "default",
        "attempt": 1,
        "max_attempts": 10,
        "key": None,
        "subject": None,
        "needs_start": False,
        "headers": {},
        "lease": Lease(number, 1, "w1", THEN),
    }
    return ClaimedJob(**(told | fields))


def state_after(report: Report) -> JobState:
    match report.event:
        case Event.COMPLETE:
            return JobState.COMPLETED
        case Event.CANCEL:
            return JobState.CANCELLED
        case Event.DISCARD:
            return JobState.DISCARDED
        case Event.RELEASE if report.excused:
            return JobState.AVAILABLE
        case Event.FAIL if report.permanent:
            return JobState.DISCARDED
    return JobState.SCHEDULED


class FakeTransaction:
    """Keeps a log of what was done; `error` is raised by settle."""

    def __init__(self, source: FakeSource) -> None:
        self._source = source
        self.log: list[str] = []
        self.threads: set[int] = set()
        self.error: Exception | None = None
        self.report: Report | None = None

    def open(self) -> str:
        self._note("open")
        return "connection"

    def flush(self) -> None: ...

    def settle(self, job: ClaimedJob, report: Report) -> JobState:
        self._note("settle")
        if self.error is not None:
            raise self.error
        self.report = report
        self._note("commit")
        return state_after(report)

    def abandon(self) -> None:
        self._note("abandon")

    async def aopen(self) -> str:
        return self.open()

    async def aflush(self) -> None: ...

    async def asettle(self, job: ClaimedJob, report: Report) -> JobState:
        await asyncio.sleep(0)
        return self.settle(job, report)

    async def aabandon(self) -> None:
        self.abandon()

    def _note(self, what: str) -> None:
        self.log.append(what)
        self.threads.add(threading.get_ident())
        self._source.changed()


class FakeSource:
    """`errors[method]` are raised, one a call; `hangs` names the methods that never answer."""

    keeps_leases = True

    def __init__(self, *jobs: ClaimedJob) -> None:
        self.available: dict[str, deque[ClaimedJob]] = defaultdict(deque)
        self.claims: list[tuple[dict[str, int], int]] = []
        self.batches: list[int] = []
        self.reports: list[tuple[ClaimedJob, Report]] = []
        self.started: list[Lease] = []
        self.extensions: list[Extension] = []
        self.beats: list[Vitals] = []
        self.transactions: list[FakeTransaction] = []
        self.transaction_error: Exception | None = None
        self.calls: list[str] = []
        self.errors: dict[str, list[Exception]] = defaultdict(list)
        self.hangs: set[str] = set()
        self.refused: set[int] = set()  # jobs whose completion cannot be written
        self.lost: dict[int, LeaseLost] = {}
        self.requests: dict[int, CancelReason] = {}
        self.answer: Callable[[Extension], Answer] = lambda asked: Extended(asked.lease, THEN)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()
        self._bell = asyncio.Event()
        self.add(*jobs)

    def add(self, *jobs: ClaimedJob) -> None:
        for one in jobs:
            self.available[one.queue].append(one)

    def ring(self) -> None:
        self._bell.set()

    def events(self) -> dict[int, Event]:
        return {one.id: report.event for one, report in self.reports}

    def changed(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._changed.set)

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait until something holds; looked at after every call of the source."""
        async with asyncio.timeout(DEADLINE):
            while not holds():
                self._changed.clear()
                await self._changed.wait()

    async def open(self, worker: WorkerInfo, policies: Sequence[Policy]) -> None:
        self._loop = asyncio.get_running_loop()
        await self._called("open")

    async def close(self) -> None:
        await self._called("close")

    async def claim(self, quotas: Mapping[str, int], limit: int) -> list[ClaimedJob]:
        self.claims.append((dict(quotas), limit))
        await self._called("claim")
        got: list[ClaimedJob] = []
        for queue, quota in quotas.items():
            line = self.available[queue]
            got.extend(line.popleft() for _ in range(min(quota, len(line), limit - len(got))))
        return got

    async def start(self, lease: Lease) -> Lease:
        self.started.append(lease)
        await self._called("start")
        return lease

    async def settle(self, reports: Sequence[tuple[ClaimedJob, Report]]) -> list[Settled]:
        self.batches.append(len(reports))
        await self._called("settle")
        if any(one.id in self.refused and report.event is Event.COMPLETE for one, report in reports):
            raise BatchRefused(ValueError("22P05"))
        self.reports.extend(reports)
        self.changed()
        return [self.lost.get(one.id) or state_after(report) for one, report in reports]

    async def arm(self) -> None:
        await self._called("arm")

    async def wait(self, timeout: float) -> None:
        await self._called("wait")
        try:
            async with asyncio.timeout(timeout):
                await self._bell.wait()
            self._bell.clear()
        except TimeoutError:
            pass

    def extend(self, extensions: Sequence[Extension]) -> list[Answer]:
        self._note("extend")
        self.extensions.extend(extensions)
        return [self.answer(extension) for extension in extensions]

    def asked(self, leases: Sequence[Lease]) -> Mapping[int, CancelReason]:
        self._note("asked")
        return {lease.job_id: self.requests[lease.job_id] for lease in leases if lease.job_id in self.requests}

    def beat(self, vitals: Vitals) -> None:
        self.beats.append(vitals)
        self._note("beat")

    def transaction(self, on: Any = None, *, is_async: bool) -> FakeTransaction:
        made = FakeTransaction(self)
        made.error = self.transaction_error
        self.transactions.append(made)
        return made

    async def _called(self, method: str) -> None:
        self._note(method)
        if method in self.hangs:
            await asyncio.Event().wait()
        await asyncio.sleep(0)

    def _note(self, method: str) -> None:
        self.calls.append(method)
        self.changed()
        if self.errors[method]:
            raise self.errors[method].pop(0)


def handler(function: Callable[..., Any], name: str = "noop", *, takes_context: bool = False) -> Handler:
    return Handler(
        name, function, asyncio.iscoroutinefunction(function), takes_context, lambda args, follow_up: dict(args)
    )


def work_loop(source: FakeSource, *functions: Callable[..., Any], **settings: Any) -> WorkLoop:
    """A worker whose kinds are named like the functions; one that names `ctx` takes the context."""
    handlers = {
        f.__name__: handler(f, f.__name__, takes_context="ctx" in f.__code__.co_varnames[:1]) for f in functions
    }
    told = WorkerSettings(**({"queues": {"default": 4}, "poll": 0.01, "grace": DEADLINE} | settings))
    return WorkLoop(source, handlers, told, worker=WORKER)


async def filled(source: FakeSource, loop: WorkLoop, kind: str) -> list[ClaimedJob]:
    """Wait until jobs of the kind are in every slot and in the buffer; gives those in the buffer."""
    queue = loop._queues["default"]

    def full() -> bool:
        inside = [*loop._running, *queue._buffer]
        return queue.running == queue.slots and not queue.room() and {a.job.kind for a in inside} == {kind}

    await source.until(lambda: full() and queue._buffer)
    return [attempt.job for attempt in queue._buffer]


def go(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run the test in a loop of its own, with a deadline."""

    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE * 2):
            await test()

    asyncio.run(bounded())


async def wait_for_thread(event: threading.Event) -> None:
    """Wait for a thread's event without blocking the loop."""
    assert await asyncio.to_thread(event.wait, DEADLINE)


def wait_until_asked(ctx: Context) -> None:
    """What a sync handler does that looks at its flag and at nothing else."""
    end = time.monotonic() + DEADLINE
    while ctx.cancel_requested is None:
        assert time.monotonic() < end


class Clock:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def __call__(self) -> float:
        return self.now
