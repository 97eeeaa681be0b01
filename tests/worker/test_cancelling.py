"""Cancel requests and lost leases: how they reach a handler, and what is reported then."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any, Literal

import pytest

from howdah.model.job import JobState
from howdah.model.lease import Answer, Extended, Extension, Lost
from howdah.model.outcome import Event
from howdah.worker.context import Context
from tests.worker.fake_source import DEADLINE, THEN, FakeSource, go, job, wait_until_asked, work_loop


def asks(reason: Literal["cancelled", "superseded"]) -> Any:
    return lambda asked: Extended(asked.lease, THEN, reason)


def loses(asked: Extension) -> Answer:
    return Lost(asked.lease, "taken")


@pytest.mark.parametrize("reason", ["cancelled", "superseded"])
def test_a_cancel_request_interrupts_an_async_handler(reason: Literal["cancelled", "superseded"]) -> None:
    async def slow(ctx: Context) -> None:
        ctx.extend(100)
        try:
            await asyncio.Event().wait()
        finally:
            seen.append(ctx.cancel_requested)

    seen: list[Any] = []
    source = FakeSource(job("slow"))
    source.answer = asks(reason)
    done = asyncio.run(work_loop(source, slow).drain())
    ((_, report),) = source.reports
    assert seen == [reason]
    assert report.event is Event.FAIL  # SQL knows that it was asked, and makes it cancelled
    assert report.error is not None
    assert reason in report.error.message
    assert done.failed == 1  # the fake does not know


def test_a_sync_handler_sees_the_cancel_request() -> None:
    def slow(ctx: Context) -> str | None:
        ctx.extend(100)
        assert asked.wait(DEADLINE)
        wait_until_asked(ctx)
        return ctx.cancel_requested

    asked = threading.Event()

    def answer(extension: Extension) -> Answer:
        asked.set()
        return Extended(extension.lease, THEN, "cancelled")

    source = FakeSource(job("slow"))
    source.answer = answer
    asyncio.run(work_loop(source, slow).drain())
    ((_, report),) = source.reports
    assert (report.event, report.result) == (Event.COMPLETE, '"cancelled"')


def test_a_handler_that_swallows_the_cancellation_ends_as_it_says() -> None:
    async def stubborn(ctx: Context) -> int:
        ctx.extend(100)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return 7
        return 0

    source = FakeSource(job("stubborn"))
    source.answer = asks("cancelled")
    asyncio.run(work_loop(source, stubborn).drain())
    ((_, report),) = source.reports
    assert (report.event, report.result) == (Event.COMPLETE, "7")


def test_a_buffered_job_that_was_cancelled_never_runs() -> None:
    async def quick() -> None: ...

    async def main() -> None:
        async def first(ctx: Context) -> None:
            ctx.extend(100)
            await source.until(lambda: loop._queues["default"]._buffer)
            ctx.extend(1000)
            waiting.extend(a.job.id for a in loop._queues["default"]._buffer)
            await source.until(lambda: {e.lease.job_id for e in source.extensions} >= set(waiting))
            await source.until(lambda: all(a.cancel for a in loop._queues["default"]._buffer))

        waiting: list[int] = []
        source = FakeSource(*(job("quick") for _ in range(3)))
        loop = work_loop(source, quick, first, queues={"default": 1})
        buffered = job("quick", lease_seconds=0.3)

        def answer(asked: Extension) -> Answer:
            return Extended(asked.lease, THEN, "cancelled" if asked.lease.job_id == buffered.id else None)

        source.answer = answer
        source.add(job("first"), buffered)
        await loop.drain()
        assert source.events()[buffered.id] is Event.FAIL

    go(main)


@pytest.mark.parametrize("sync", [False, True])
def test_a_lost_lease_refuses_the_result(sync: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def awaited(ctx: Context) -> str:
        ctx.extend(100)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append(ctx.cancel_requested)
        return "done all the same"

    def threaded(ctx: Context) -> str:
        ctx.extend(100)
        wait_until_asked(ctx)
        seen.append(ctx.cancel_requested)
        return "done all the same"

    seen: list[Any] = []
    source = FakeSource(job("threaded" if sync else "awaited"))
    source.answer = loses
    done = asyncio.run(work_loop(source, awaited, threaded).drain())
    assert seen == ["lost"]
    assert source.reports == []
    assert done.completed == 0
    assert "its lease is lost (taken)" in caplog.text


def test_a_thread_whose_lease_is_lost_keeps_its_slot_and_is_extended_no_more() -> None:
    async def main() -> None:
        let_go = threading.Event()

        def hung(ctx: Context) -> None:
            assert let_go.wait(DEADLINE)

        async def other() -> None: ...

        def answer(asked: Extension) -> Answer:
            return loses(asked) if asked.lease.job_id == first.id else Extended(asked.lease, THEN)

        source = FakeSource()
        source.answer = answer
        first = job("hung", lease_seconds=0.2)
        loop = work_loop(source, hung, other, queues={"default": 2}, prefetch=0)
        source.add(first, *(job("other") for _ in range(5)))
        working = asyncio.create_task(loop.run())
        await source.until(lambda: len(source.reports) == 5 and source.extensions)
        assert loop._queues["default"].running == 1
        assert all(quota == 1 for quotas, _ in source.claims[1:] for quota in quotas.values())
        assert loop._keeper._snapshot() == []
        let_go.set()
        await source.until(lambda: source.claims[-1][0] == {"default": 2})
        loop.stop()
        await working
        assert first.id not in source.events()

    go(main)


def test_a_lost_job_leaves_the_buffer() -> None:
    async def main() -> None:
        async def quick() -> None: ...

        async def slow() -> None:
            await let_go.wait()

        let_go = asyncio.Event()
        source = FakeSource(*(job("quick") for _ in range(3)))
        loop = work_loop(source, quick, slow, queues={"default": 1})
        slow_one, waiting = job("slow"), job("quick", lease_seconds=0.2)
        source.answer = loses
        source.add(slow_one, waiting)
        working = asyncio.create_task(loop.drain())
        await source.until(lambda: waiting.id in {e.lease.job_id for e in source.extensions})
        async with asyncio.timeout(DEADLINE):
            while loop._queues["default"]._buffer:
                await asyncio.sleep(0)
        let_go.set()
        await working
        assert waiting.id not in source.events()
        assert source.events()[slow_one.id] is Event.COMPLETE

    go(main)


def test_a_late_cancellation_never_touches_a_report_on_its_way() -> None:
    async def main() -> None:
        async def quick() -> None: ...

        source = FakeSource(job("quick", lease_seconds=0.2))
        source.errors["settle"] = [OSError("away")] * 3
        source.answer = loses
        done = await work_loop(source, quick).drain()
        assert done.completed == 1
        assert [answer.event for _, answer in source.reports] == [Event.COMPLETE]

    go(main)


def test_the_answer_of_the_database_is_what_counts() -> None:
    async def quick() -> None: ...

    from howdah.model.errors import LeaseLost

    refused, accepted = job("quick"), job("quick")
    source = FakeSource(refused, accepted)
    source.lost[refused.id] = LeaseLost(refused.lease, JobState.SCHEDULED, "expired")
    done = asyncio.run(work_loop(source, quick).drain())
    assert done.completed == 1
