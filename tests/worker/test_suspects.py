"""Jobs that have crashed before begin one after the other."""

from __future__ import annotations

import asyncio

import pytest

from howdah.worker import suspects
from tests.worker.fake_source import FakeSource, go, job, work_loop


def test_a_suspect_begins_only_when_the_one_before_it_is_settled() -> None:
    running, most = 0, 0

    async def suspect() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running, running + len(started) - len(source.reports) - 1)
        started.append(running)
        await asyncio.sleep(0)
        running -= 1

    started: list[int] = []
    source = FakeSource(*(job("suspect", has_crashed=True) for _ in range(8)))
    asyncio.run(work_loop(source, suspect).drain())
    assert (len(source.reports), most) == (8, 1)


def test_a_suspect_that_runs_long_lets_the_next_one_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suspects.Suspects.__init__, "__defaults__", (0.01,))

    async def test() -> None:
        begun = 0
        both = asyncio.Event()

        async def suspect() -> None:
            nonlocal begun
            begun += 1
            if begun == 2:
                both.set()
            await both.wait()

        source = FakeSource(*(job("suspect", has_crashed=True) for _ in range(2)))
        await work_loop(source, suspect).drain()
        assert len(source.reports) == 2

    go(test)


def test_others_do_not_wait_for_a_suspect() -> None:
    async def test() -> None:
        over = asyncio.Event()

        async def suspect() -> None:
            await over.wait()

        async def other() -> None:
            over.set()

        source = FakeSource(job("suspect", has_crashed=True), job("suspect", has_crashed=True), job("other"))
        await work_loop(source, suspect, other).drain()
        assert len(source.reports) == 3

    go(test)


def test_a_stop_gives_back_the_suspects_that_wait() -> None:
    async def test() -> None:
        over = asyncio.Event()

        async def suspect() -> None:
            loop.stop()
            await source.until(lambda: "beat" in source.calls)
            over.set()

        source = FakeSource(*(job("suspect", has_crashed=True) for _ in range(3)))
        loop = work_loop(source, suspect)
        await loop.run()
        assert over.is_set()
        assert sorted(report.event for _, report in source.reports) == ["complete", "release", "release"]

    go(test)
