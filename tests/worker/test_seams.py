"""What the user plugs in: middleware around every attempt, observers, and a lifespan."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from howdah import events
from howdah.model.errors import LeaseLost
from howdah.model.job import ClaimedJob, JobState
from howdah.model.outcome import Event, Report, Snooze
from howdah.worker.context import Context
from howdah.worker.loop import WorkLoop
from howdah.worker.middleware import CallNext, Seams
from howdah.worker.settings import WorkerSettings
from tests.worker.fake_source import DEADLINE, WORKER, FakeSource, go, handler, job, wait_for_thread

here: contextvars.ContextVar[str] = contextvars.ContextVar("here", default="nowhere")


def worker(source: FakeSource, function: Any, seams: Seams, *, context: bool = False) -> WorkLoop:
    handlers = {"noop": handler(function, takes_context=context)}
    settings = WorkerSettings({"default": 4}, poll=0.01, grace=DEADLINE)
    return WorkLoop(source, handlers, settings, worker=WORKER, seams=seams)


def report_of(function: Any, *middleware: Any, context: bool = False, **fields: Any) -> Report:
    source = FakeSource(job(**fields))
    asyncio.run(worker(source, function, Seams(middleware), context=context).drain(limit=1))
    ((_, report),) = source.reports
    return report


async def awaited(**args: Any) -> Any:
    return args or here.get()


def threaded(**args: Any) -> Any:
    return args or here.get()


both = pytest.mark.parametrize("function", [awaited, threaded])


@both
def test_the_first_middleware_is_the_outermost(function: Any) -> None:
    order: list[str] = []

    def named(name: str) -> Any:
        async def middleware(job: ClaimedJob, call_next: CallNext) -> Any:
            order.append(f"{name} begins")
            value = await call_next(job)
            order.append(f"{name} ends")
            return value

        return middleware

    assert report_of(function, named("a"), named("b")).event is Event.COMPLETE
    assert order == ["a begins", "b begins", "b ends", "a ends"]


@both
def test_what_the_middleware_raises_or_returns_is_the_outcome(function: Any) -> None:
    async def failing(job: ClaimedJob, call_next: CallNext) -> Any:
        await call_next(job)
        raise ValueError("after")

    async def snoozing(job: ClaimedJob, call_next: CallNext) -> Any:
        return Snooze(3)

    report = report_of(function, failing)
    assert report.error is not None
    assert (report.event, report.error.message) == (Event.FAIL, "after")
    assert report_of(function, snoozing).event is Event.SNOOZE


@both
def test_the_handler_gets_the_context_variables_and_args_that_the_middleware_gives(function: Any) -> None:
    async def inside(job: ClaimedJob, call_next: CallNext) -> Any:
        here.set("inside")
        return await call_next(job)

    async def other_args(job: ClaimedJob, call_next: CallNext) -> Any:
        return await call_next(replace(job, args={"n": 3}))

    assert report_of(function, inside).result == '"inside"'
    assert report_of(function, other_args).result == '{"n":3}'


@pytest.mark.parametrize("is_async", [True, False])
def test_what_the_handler_raises_passes_through_the_middleware(is_async: bool) -> None:
    seen: list[BaseException] = []

    async def fail() -> None:
        raise ValueError("no")

    def fail_in_thread() -> None:
        raise ValueError("no")

    async def seeing(job: ClaimedJob, call_next: CallNext) -> Any:
        try:
            return await call_next(job)
        except ValueError as error:
            seen.append(error)
            return "mended"

    report = report_of(fail if is_async else fail_in_thread, seeing)
    assert (len(seen), report.result) == (1, '"mended"')


def test_the_start_step_comes_before_the_middleware() -> None:
    async def main() -> None:
        async def looking(job: ClaimedJob, call_next: CallNext) -> Any:
            began.append(len(source.started))
            return await call_next(job)

        began: list[int] = []
        source = FakeSource(job(needs_start=True))
        await worker(source, awaited, Seams((looking,))).drain(limit=1)
        assert began == [1]

    go(main)


def test_a_transaction_is_settled_after_the_middleware() -> None:
    async def main() -> None:
        def writing(ctx: Context) -> int:
            with ctx.transaction():
                return 3

        async def failing(job: ClaimedJob, call_next: CallNext) -> Any:
            await call_next(job)
            raise ValueError("after")

        source = FakeSource(job())
        await worker(source, writing, Seams((failing,)), context=True).drain(limit=1)
        assert source.transactions[0].log == ["open", "abandon"]
        source.add(job())
        loop = worker(source, writing, Seams((passing,)), context=True)
        await loop.drain(limit=1)
        assert source.transactions[1].log[:3] == ["open", "settle", "commit"]

    async def passing(job: ClaimedJob, call_next: CallNext) -> Any:
        return await call_next(job)

    go(main)


def test_a_cancel_request_does_not_part_the_middleware_from_a_running_thread() -> None:
    async def main() -> None:
        def hung() -> int:
            began.set()
            assert let_go.wait(DEADLINE)
            return 3

        async def passing(job: ClaimedJob, call_next: CallNext) -> Any:
            value = await call_next(job)
            seen.append(value)
            return value

        seen: list[Any] = []
        began, let_go = threading.Event(), threading.Event()
        source = FakeSource(job())
        loop = worker(source, hung, Seams((passing,)))
        working = asyncio.create_task(loop.drain(limit=1))
        await wait_for_thread(began)
        (attempt,) = loop._running
        attempt.ask("cancelled")
        loop._interrupt(attempt)
        await asyncio.sleep(0)
        assert seen == []
        let_go.set()
        await working
        assert seen == [3]
        assert [report.event for _, report in source.reports] == [Event.COMPLETE]

    go(main)


def test_observers_are_told_in_order_and_their_errors_go_no_further(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        told: list[Any] = []

        def broken(event: object) -> None:
            raise ValueError("no")

        source = FakeSource(job(), job("unheard-of"))
        await worker(source, awaited, Seams(observers=(broken, told.append))).drain(limit=2)
        names = [type(event).__name__ for event in told]
        assert names[:3] == ["WorkerStarted", "JobsClaimed", "JobBegan"]
        assert sorted(names[3:5]) == ["JobSettled", "JobSettled"]
        assert names[-1] == "WorkerStopped"
        settled = {event.job.kind: event for event in told if isinstance(event, events.JobSettled)}
        assert (settled["noop"].state, settled["noop"].event) == (JobState.COMPLETED, "complete")
        assert settled["noop"].seconds >= 0
        assert settled["unheard-of"].seconds is None

    go(main)
    said = [record for record in caplog.records if "an observer failed" in record.getMessage()]
    assert len(said) == 1  # of many: it may fail thousands of times a second
    assert "ValueError: no" in caplog.text


def test_observers_are_told_of_a_lost_lease() -> None:
    async def main() -> None:
        told: list[Any] = []
        one = job()
        source = FakeSource(one)
        source.lost[one.id] = LeaseLost(one.lease, JobState.RUNNING, "taken")
        await worker(source, awaited, Seams(observers=(told.append,))).drain(limit=1)
        (lost,) = [event for event in told if isinstance(event, events.JobLost)]
        assert lost.job is one
        assert lost.error is source.lost[one.id]

    go(main)


def lifespan_that_notes(notes: list[str]) -> Any:
    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        notes.append("begins")
        yield
        notes.append("ends")

    return lifespan


def test_the_lifespan_is_around_everything() -> None:
    notes: list[str] = []

    async def noting() -> None:
        notes.append("handler")

    source = FakeSource(job())
    asyncio.run(worker(source, noting, Seams(lifespan=lifespan_that_notes(notes))).drain())
    assert notes == ["begins", "handler", "ends"]


def test_a_lifespan_that_cannot_begin_starts_no_worker() -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[None]:
        raise ValueError("no licence")
        yield

    source = FakeSource(job())
    with pytest.raises(ValueError, match="no licence"):
        asyncio.run(worker(source, awaited, Seams(lifespan=broken)).drain())
    assert "claim" not in source.calls
    assert "open" not in source.calls


def test_a_lifespan_that_does_not_end_holds_up_nothing(caplog: pytest.LogCaptureFixture) -> None:
    @asynccontextmanager
    async def endless() -> AsyncIterator[None]:
        yield
        await asyncio.Event().wait()

    async def main() -> None:
        source = FakeSource(job())
        settings = WorkerSettings({"default": 1}, poll=0.01, grace=0)
        loop = WorkLoop(source, {"noop": handler(awaited)}, settings, worker=WORKER, seams=Seams(lifespan=endless))
        await loop.drain()
        assert source.calls[-1] == "close"

    go(main)
    assert "the lifespan did not end in time" in caplog.text


def test_a_stop_while_the_lifespan_begins_ends_at_once() -> None:
    async def main() -> None:
        @asynccontextmanager
        async def slow() -> AsyncIterator[None]:
            begun.set()
            await asyncio.Event().wait()
            yield

        begun = asyncio.Event()
        source = FakeSource(job())
        loop = worker(source, awaited, Seams(lifespan=slow))
        working = asyncio.create_task(loop.run())
        await begun.wait()
        loop.stop()
        await working
        assert "open" not in source.calls

    go(main)


def test_a_middleware_that_stops_waiting_still_waits_for_the_thread() -> None:
    """Or the handler would go on in a transaction that has been ended, beside the next attempt."""

    async def main() -> None:
        def slow(ctx: Context) -> int:
            with ctx.transaction():
                began.set()
                assert let_go.wait(DEADLINE)
            seen.append(ctx.cancel_requested)
            return 3

        async def impatient(job: ClaimedJob, call_next: CallNext) -> Any:
            async with asyncio.timeout(0.02):
                return await call_next(job)

        seen: list[Any] = []
        began, let_go = threading.Event(), threading.Event()
        source = FakeSource(job())
        loop = worker(source, slow, Seams((impatient,)), context=True)
        working = asyncio.create_task(loop.drain(limit=1))
        await wait_for_thread(began)
        (attempt,) = loop._running
        while attempt.cancel is None:
            await asyncio.sleep(0.005)
        assert (source.reports, source.transactions[0].log) == ([], ["open"])
        let_go.set()
        await working
        assert seen == ["timeout"]
        assert source.transactions[0].log == ["open", "abandon"]
        ((_, report),) = source.reports
        assert report.error is not None
        assert (report.event, report.error.event) == (Event.FAIL, "timeout")

    go(main)


def test_a_lifespan_that_breaks_ends_the_worker_and_is_raised() -> None:
    async def main() -> None:
        @asynccontextmanager
        async def refreshing() -> AsyncIterator[None]:
            async with asyncio.TaskGroup() as group:
                group.create_task(refresh())
                yield

        async def refresh() -> None:
            await broken.wait()
            raise ValueError("the token cannot be refreshed")

        broken = asyncio.Event()
        source = FakeSource(job())
        loop = worker(source, awaited, Seams(lifespan=refreshing))
        working = asyncio.create_task(loop.run())
        await source.until(lambda: source.reports)
        broken.set()
        with pytest.raises(ExceptionGroup) as raised:
            await working
        assert raised.group_contains(ValueError, match="refreshed")
        assert source.calls[-1] == "close"

    go(main)


def test_a_lifespan_that_just_ends_is_an_error_too() -> None:
    @asynccontextmanager
    async def swallowing() -> AsyncIterator[None]:
        with suppress(asyncio.CancelledError):
            yield

    async def main() -> None:
        source = FakeSource()
        loop = worker(source, awaited, Seams(lifespan=swallowing))
        working = asyncio.create_task(loop.run())
        await source.until(lambda: "wait" in source.calls)
        assert loop._lifespan._task is not None
        loop._lifespan._task.cancel()
        with pytest.raises((RuntimeError, asyncio.CancelledError)):
            await working
        assert source.calls[-1] == "close"

    go(main)


@pytest.mark.parametrize("error", [SystemExit(7), asyncio.CancelledError(), KeyboardInterrupt()])
def test_an_observer_that_exits_ends_nothing(error: BaseException) -> None:
    def exiting(event: object) -> None:
        raise error

    source = FakeSource(*(job() for _ in range(8)))
    assert asyncio.run(worker(source, awaited, Seams(observers=(exiting,))).drain()).completed == 8
    assert source.calls[-1] == "close"
