"""A handler that takes too long, or says nothing for too long."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from howdah.model.outcome import Complete, Event, Fail, Report
from howdah.worker.attempt import Attempt
from howdah.worker.context import Context
from howdah.worker.loop import WorkLoop
from tests.worker.fake_source import (
    DEADLINE,
    WORKER,
    FakeSource,
    go,
    handler,
    job,
    wait_for_thread,
    wait_until_asked,
)
from tests.worker.test_leasekeeper import Kept

SHORT = 0.05


def worker(source: FakeSource, function: Any, *, context: bool = False, **limits: float) -> WorkLoop:
    from dataclasses import replace

    from howdah.worker.settings import WorkerSettings

    made = replace(handler(function, takes_context=context), **limits)
    return WorkLoop(source, {"noop": made}, WorkerSettings({"default": 4}, poll=0.01, grace=DEADLINE), worker=WORKER)


def report_of(function: Any, *, context: bool = False, **limits: float) -> Report:
    source = FakeSource(job())
    asyncio.run(worker(source, function, context=context, **limits).drain(limit=1))
    ((_, report),) = source.reports
    return report


def test_an_async_handler_is_cancelled_at_its_timeout() -> None:
    async def endless() -> None:
        await asyncio.Event().wait()

    report = report_of(endless, timeout=SHORT)
    assert report.event is Event.FAIL
    assert report.error is not None
    assert (report.error.event, report.error.message) == ("timeout", "its handler took longer than 0.05 s")
    assert "endless" in (report.error.traceback or "")


@pytest.mark.parametrize("value", [None, 3, Complete(3), Fail("no", permanent=True)])
def test_what_an_async_handler_returns_after_its_timeout_is_refused(value: object) -> None:
    async def deaf() -> object:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return value

    report = report_of(deaf, timeout=SHORT)
    assert (report.event, report.error and report.error.event, report.permanent) == (Event.FAIL, "timeout", False)


def test_a_sync_handler_sees_the_timeout_and_its_result_is_refused() -> None:
    seen: list[Any] = []

    def looking(ctx: Context) -> int:
        wait_until_asked(ctx)
        seen.append(ctx.cancel_requested)
        return 3

    report = report_of(looking, context=True, timeout=SHORT)
    assert seen == ["timeout"]
    assert (report.event, report.error and report.error.event) == (Event.FAIL, "timeout")


def test_a_handler_that_ends_in_time_knows_nothing_of_its_timeout() -> None:
    async def quick() -> int:
        return 3

    assert report_of(quick, timeout=DEADLINE).event is Event.COMPLETE


def test_the_time_counts_from_the_handlers_begin() -> None:
    async def main() -> None:
        def first() -> None:
            began.set()
            assert let_go.wait(DEADLINE)

        began, let_go = threading.Event(), threading.Event()
        source = FakeSource(job(), job())
        loop = worker(source, first, timeout=DEADLINE)
        loop._threads.room = asyncio.Semaphore(1)
        working = asyncio.create_task(loop.drain())
        await wait_for_thread(began)
        await source.until(lambda: loop._queues["default"].running == 2)
        waiting = [attempt for attempt in loop._running if attempt.timeout != DEADLINE]
        assert [attempt.times_out_at for attempt in waiting] == [float("inf")]
        let_go.set()
        await working

    go(main)


def test_a_thread_past_its_timeout_keeps_its_slot_and_not_its_lease() -> None:
    async def main() -> None:
        def hung() -> None:
            began.set()
            assert let_go.wait(DEADLINE)

        began, let_go = threading.Event(), threading.Event()
        source = FakeSource(job(lease_seconds=0.3))
        loop = worker(source, hung, timeout=SHORT)
        working = asyncio.create_task(loop.run())
        await wait_for_thread(began)
        (attempt,) = loop._running
        await source.until(lambda: attempt.lost)
        assert source.extensions == []
        vitals = loop._vitals()
        assert (vitals.running, vitals.stuck) == (1, 1)
        let_go.set()
        await source.until(lambda: not loop._running)
        assert loop._vitals().stuck == 0
        loop.stop()
        await working
        assert source.reports == []

    go(main)


def test_a_timeout_outranks_a_wish_and_a_lost_lease_outranks_both() -> None:
    attempt = Attempt(job(), 0.0)
    assert attempt.ask("cancelled")
    assert attempt.ask("timeout")
    assert attempt.cancel == "timeout"
    assert attempt.ask("stopping")
    assert attempt.cancel == "timeout"
    assert attempt.ask("lost")
    assert attempt.cancel == "lost"


def test_the_fence_asks_once_and_at_the_moment() -> None:
    kept = Kept()
    (attempt,) = kept.attempts
    attempt.begin(kept.clock(), timeout=0.5, stall_timeout=None)
    assert kept.keeper.fence() == pytest.approx(0.5)
    kept.clock.now += 0.5
    kept.keeper.fence()
    kept.keeper.fence()
    assert (kept.told, attempt.cancel) == ([attempt], "timeout")


def test_progress_keeps_the_lease_and_silence_lets_it_end() -> None:
    kept = Kept()
    (attempt,) = kept.attempts
    attempt.begin(kept.clock(), timeout=None, stall_timeout=30)
    kept.clock.now += 29
    kept.keeper.extend()
    assert len(kept.extended()) == 1
    kept.clock.now += 25  # silent for 54 s; the lease of 60 s was extended 25 s ago
    kept.keeper.extend()
    assert len(kept.extended()) == 1
    attempt.heard_at = kept.clock()
    kept.keeper.extend()
    assert len(kept.extended()) == 2
    kept.clock.now += 59
    kept.keeper.extend()
    kept.keeper.fence()
    assert len(kept.extended()) == 2
    assert attempt.lost


def test_a_handler_that_says_nothing_loses_its_lease() -> None:
    async def main() -> None:
        async def silent() -> None:
            await asyncio.Event().wait()

        source = FakeSource(job(lease_seconds=0.3))
        loop = worker(source, silent, stall_timeout=SHORT)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: loop._running)
        (attempt,) = loop._running
        await source.until(lambda: attempt.lost and not loop._running)
        assert source.extensions == []
        loop.stop()
        await working
        assert source.reports == []

    go(main)


def test_a_handler_that_makes_progress_is_kept() -> None:
    async def main() -> None:
        async def steady(ctx: Context) -> None:
            while len(source.extensions) < 5:
                ctx.progress(0.5)
                await asyncio.sleep(0)

        source = FakeSource(job(lease_seconds=0.3))
        await worker(source, steady, context=True, stall_timeout=DEADLINE).drain(limit=1)
        assert source.events() == {source.reports[0][0].id: Event.COMPLETE}

    go(main)


def test_a_handler_is_not_told_again_and_again() -> None:
    attempt = Attempt(job(), 0.0)
    assert attempt.ask("cancelled")
    assert not attempt.ask("superseded")
    assert not attempt.ask("cancelled")
    assert attempt.ask("stopping")


def test_a_lease_is_not_kept_for_a_transaction_that_never_ends() -> None:
    kept = Kept()
    (attempt,) = kept.attempts
    attempt.ended, attempt.settling_at = True, kept.clock()
    kept.clock.now += 30
    kept.keeper.extend()
    assert len(kept.extended()) == 1
    kept.clock.now += 31
    kept.keeper.extend()
    assert len(kept.extended()) == 1


def test_a_report_that_follows_a_rollback_keeps_its_lease_until_it_is_settled() -> None:
    async def main() -> None:
        async def fail(ctx: Context) -> None:
            async with ctx.transaction():
                raise ValueError("no")

        source = FakeSource(job(lease_seconds=0.3))
        source.hangs = {"settle"}
        loop = worker(source, fail, context=True)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: "settle" in source.calls)
        (attempt,) = loop._keeper._held
        assert attempt.ended
        before = len(source.extensions)
        await source.until(lambda: len(source.extensions) >= before + 5)  # for more than one length of its lease
        loop.abandon()
        await working

    go(main)
