"""A graceful stop, a stop at once, and a stop although everything hangs."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from howdah.app.process import EXIT_AFTER, LEFT_OVERS
from howdah.model.outcome import Event
from howdah.worker import runner
from howdah.worker import stopping as module
from howdah.worker.context import Context
from howdah.worker.loop import WorkLoop
from howdah.worker.middleware import Seams
from howdah.worker.settings import WorkerSettings
from howdah.worker.verdict import GIVEN_BACK
from tests.worker.fake_source import DEADLINE, WORKER, FakeSource, filled, go, job, wait_for_thread, work_loop


async def quick() -> None: ...


def backlog(kind: str, slots: int, **fields: Any) -> FakeSource:
    """Enough quick jobs that the worker prefetches, then slow ones."""
    return FakeSource(*(job("quick") for _ in range(slots * 5)), *(job(kind, **fields) for _ in range(slots * 5)))


def test_a_graceful_stop_finishes_what_runs_and_gives_back_the_rest() -> None:
    async def main() -> None:
        async def slow() -> None:
            await let_go.wait()

        let_go = asyncio.Event()
        source = backlog("slow", 3)
        loop = work_loop(source, quick, slow, queues={"default": 3})
        working = asyncio.create_task(loop.run())
        buffered = await filled(source, loop, "slow")
        claims = len(source.claims)
        loop.stop()
        await source.until(lambda: [one for one, report in source.reports if report is GIVEN_BACK] == buffered)
        assert not working.done()
        let_go.set()
        await working
        slow_ones = [report.event for one, report in source.reports if one.kind == "slow"]
        assert sorted(slow_ones) == [Event.COMPLETE] * 3 + [Event.RELEASE] * len(buffered)
        assert len(source.claims) == claims
        assert source.beats[-1].stopping
        assert source.calls[-1] == "close"

    go(main)


def test_cancelling_run_is_a_graceful_stop() -> None:
    async def main() -> None:
        async def slow() -> None:
            await let_go.wait()

        let_go = asyncio.Event()
        source = backlog("slow", 2)
        loop = work_loop(source, quick, slow, queues={"default": 2})
        working = asyncio.create_task(loop.run())
        buffered = await filled(source, loop, "slow")
        working.cancel()
        await source.until(lambda: [one for one, report in source.reports if report is GIVEN_BACK] == buffered)
        let_go.set()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert sum(one.kind == "slow" and r.event is Event.COMPLETE for one, r in source.reports) == 2
        assert source.calls[-1] == "close"

    go(main)


def test_jobs_that_are_claimed_during_the_stop_are_given_back() -> None:
    async def main() -> None:
        source = FakeSource(*(job("quick") for _ in range(4)))
        loop = work_loop(source, quick)
        claim = source.claim

        async def stopped_meanwhile(*quotas: Any) -> Any:
            jobs = await claim(*quotas)
            loop.stop()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return jobs

        source.claim = stopped_meanwhile  # type: ignore[method-assign]
        await loop.run()
        assert [report for _, report in source.reports] == [GIVEN_BACK] * 4

    go(main)


def test_after_the_grace_handlers_are_cancelled_and_their_jobs_given_back() -> None:
    async def main() -> None:
        async def slow(ctx: Context) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                seen.append(ctx.cancel_requested)

        seen: list[Any] = []
        plain, careful = job("slow"), job("slow", needs_start=True)
        source = FakeSource(plain, careful)
        loop = work_loop(source, slow, grace=0.01)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: loop._queues["default"].running == 2 and source.started)
        loop.stop()
        await working
        assert seen == ["stopping"] * 2
        assert [(one, report) for one, report in source.reports] == [(plain, GIVEN_BACK)]  # the other has begun

    go(main)


def test_after_the_grace_a_thread_is_told_and_left_to_expire() -> None:
    async def main() -> None:
        def hung(ctx: Context) -> None:
            assert let_go.wait(DEADLINE)
            seen.append(ctx.cancel_requested)
            ended.set()

        seen: list[Any] = []
        let_go, ended = threading.Event(), threading.Event()
        source = FakeSource(job("hung"))
        loop = work_loop(source, hung, grace=0.0)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: loop._queues["default"].running == 1 and "wait" in source.calls)
        loop.stop()
        await working
        let_go.set()
        await wait_for_thread(ended)
        assert seen == ["stopping"]
        assert source.reports == []

    go(main)


def test_leases_are_extended_during_the_grace() -> None:
    async def main() -> None:
        async def slow() -> None:
            await source.until(lambda: loop._stopping.asked)
            now = len(source.extensions)
            await source.until(lambda: len(source.extensions) > now + 1)

        source = FakeSource(job("slow", lease_seconds=0.15))
        loop = work_loop(source, slow)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: source.extensions)
        loop.stop()
        await working
        assert [report.event for _, report in source.reports] == [Event.COMPLETE]

    go(main)


@pytest.mark.parametrize("stop_first", [False, True])
def test_a_second_stop_ends_at_once_without_reports(stop_first: bool) -> None:
    async def main() -> None:
        async def slow() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(1)

        ended: list[int] = []
        source = FakeSource(*(job("slow") for _ in range(4)))
        loop = work_loop(source, slow, grace=1000.0)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: loop._queues["default"].running == 4)
        if stop_first:
            loop.stop()
            await source.until(lambda: source.beats and source.beats[-1].stopping)
        loop.abandon()
        await working
        assert ended == [1] * 4
        assert source.reports == []
        assert source.calls[-1] == "close"

    go(main)


def test_a_handler_that_does_not_listen_cannot_hold_up_the_end() -> None:
    async def main() -> None:
        async def stubborn() -> None:
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    told.append(1)

        let_go = asyncio.Event()
        told: list[int] = []
        source = FakeSource(job("stubborn"))
        loop = work_loop(source, stubborn, grace=1000.0)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: loop._queues["default"].running == 1)
        loop.abandon()
        await working
        assert told
        assert source.reports == []
        let_go.set()

    go(main)


def test_the_steps_of_a_stop_take_less_than_two_seconds() -> None:
    ends = (module.REPORTS_SENT, module.KEEPER_ENDS, module.TASKS_END, module.LIFESPAN_ENDS, module.SOURCE_CLOSES)
    assert sum(ends) + LEFT_OVERS < EXIT_AFTER < 2
    assert module.CLAIM_ENDS < module.HANDLERS_END < module.REPORTS_SENT


@pytest.mark.parametrize("method", ["open", "claim", "arm", "settle", "start", "close", "wait"])
def test_a_stop_ends_although_the_source_hangs(
    method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for step, seconds in (
        ("CLAIM_ENDS", 0.01),
        ("HANDLERS_END", 0.03),
        ("REPORTS_SENT", 0.06),
        ("SOURCE_CLOSES", 0.02),
    ):
        monkeypatch.setattr(module, step, seconds)

    async def main() -> None:
        source = FakeSource(job("quick", needs_start=True))
        source.hangs = {method}
        loop = work_loop(source, quick, grace=0.01)
        working = asyncio.create_task(loop.run())
        if method == "close":
            await source.until(lambda: source.reports)
        else:
            await source.until(lambda: method in source.calls)
        began = time.monotonic()
        loop.stop()
        await working
        assert time.monotonic() - began < 0.5
        if method == "settle":
            assert [r.levelno for r in caplog.records if "not sent" in r.message] == [logging.ERROR]

    go(main)


def test_stop_before_run_runs_nothing() -> None:
    source = FakeSource(job("quick"))
    loop = work_loop(source, quick)
    loop.stop()
    asyncio.run(loop.run())
    assert source.claims == []


def test_stop_works_from_any_thread_and_more_than_once() -> None:
    async def main() -> None:
        source = FakeSource()
        loop = work_loop(source, poll=1000.0)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: "wait" in source.calls)
        for _ in range(2):
            await asyncio.to_thread(loop.stop)
        await working
        loop.stop()
        loop.abandon()

    go(main)


def test_a_job_that_waits_for_a_thread_is_given_back() -> None:
    async def main() -> None:
        def hung() -> None:
            began.set()
            assert let_go.wait(DEADLINE)

        began, let_go = threading.Event(), threading.Event()
        source = FakeSource(job("hung", needs_start=True), job("hung", needs_start=True))
        loop = work_loop(source, hung, threads=1)
        working = asyncio.create_task(loop.run())
        await wait_for_thread(began)
        await source.until(lambda: loop._queues["default"].running == 2)
        loop.stop()
        await asyncio.sleep(0)
        let_go.set()
        await working
        assert sorted(report.event for _, report in source.reports) == [Event.COMPLETE, Event.RELEASE]
        assert len(source.started) == 1

    go(main)


def test_a_job_that_waits_for_a_thread_is_given_back_at_once_by_a_stop() -> None:
    async def main() -> None:
        def hung() -> None:
            began.set()
            assert let_go.wait(DEADLINE)

        began, let_go = threading.Event(), threading.Event()
        source = FakeSource(job("hung"), job("hung"))
        loop = work_loop(source, hung, threads=1)
        working = asyncio.create_task(loop.run())
        await wait_for_thread(began)
        await source.until(lambda: loop._queues["default"].running == 2)
        loop.stop()
        await source.until(lambda: [report for _, report in source.reports] == [GIVEN_BACK])
        let_go.set()
        await working

    go(main)


def test_a_job_that_gets_no_thread_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "THREAD_WAIT", 0.02)

    async def main() -> None:
        def hung() -> None:
            began.set()
            assert let_go.wait(DEADLINE)

        began, let_go = threading.Event(), threading.Event()
        source = FakeSource(job("hung"), job("hung"))
        loop = work_loop(source, hung, threads=1)
        working = asyncio.create_task(loop.drain())
        await source.until(lambda: [report for _, report in source.reports] == [GIVEN_BACK])
        let_go.set()
        await working
        assert loop._threads.room._value == 1

    go(main)


@pytest.mark.parametrize("cancelled", [False, True])
def test_what_a_last_claim_brings_is_given_back(cancelled: bool) -> None:
    async def main() -> None:
        source = FakeSource(job("quick"))
        claim, claiming, go_on = source.claim, asyncio.Event(), asyncio.Event()

        async def slow(*quotas: Any) -> Any:
            claiming.set()
            await go_on.wait()
            return await claim(*quotas)

        source.claim = slow  # type: ignore[method-assign]
        loop = work_loop(source, quick)
        working = asyncio.create_task(loop.run())
        await claiming.wait()
        if cancelled:
            working.cancel()
        else:
            loop.stop()
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.wait({working})
        assert [report for _, report in source.reports] == [GIVEN_BACK]

    go(main)


def test_a_cancellation_while_it_ends_does_not_keep_it_from_closing() -> None:
    async def main() -> None:
        @asynccontextmanager
        async def slow() -> AsyncIterator[None]:
            yield
            ending.set()
            await go_on.wait()

        ending, go_on = asyncio.Event(), asyncio.Event()
        source = FakeSource()
        settings = WorkerSettings({"default": 1}, poll=0.01, grace=DEADLINE)
        loop = WorkLoop(source, {}, settings, worker=WORKER, seams=Seams(lifespan=slow))
        working = asyncio.create_task(loop.run())
        await source.until(lambda: "wait" in source.calls)
        loop.stop()
        await ending.wait()
        working.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert (source.calls[-1], loop.health().phase) == ("close", "stopped")

    go(main)
