"""Which loop makes no progress, and whether the worker takes work."""

from __future__ import annotations

import asyncio
import threading

from howdah.worker.health import ANSWERED_WITHIN, Health, Pulses
from tests.worker.fake_source import DEADLINE, Clock, FakeSource, go, job, wait_for_thread, work_loop


def test_a_loop_without_a_turn_is_named() -> None:
    clock = Clock()
    pulses = Pulses(clock)
    claiming, settling = pulses.of("claiming", limit=10), pulses.of("settling", limit=10)
    claiming.beat()
    settling.beat()
    pulses.answered()
    clock.now += 9
    assert pulses.look("working").ready
    settling.beat()
    clock.now += 2
    health = pulses.look("working")
    assert (health.alive, health.ready, health.stalled) == (False, False, {"claiming": 11})


def test_a_loop_that_rests_makes_progress() -> None:
    clock = Clock()
    pulses = Pulses(clock)
    pulses.of("never begun", limit=10)
    resting = pulses.of("resting", limit=10)
    resting.beat()
    resting.rest()
    clock.now += 1000
    assert pulses.look("working").alive


def test_an_outage_makes_it_unready_and_not_dead() -> None:
    clock = Clock()
    pulses = Pulses(clock)
    assert pulses.look("working").silent_source == float("inf")
    pulses.answered()
    clock.now += ANSWERED_WITHIN + 1
    health = pulses.look("working")
    assert (health.alive, health.ready) == (True, False)


def test_only_a_working_worker_is_ready() -> None:
    assert Health("working").ready
    for phase in ("starting", "stopping", "stopped"):
        assert not Health(phase).ready
        assert Health(phase).alive


def test_a_worker_says_where_it_is() -> None:
    async def main() -> None:
        async def slow() -> None:
            await let_go.wait()

        let_go = asyncio.Event()
        source = FakeSource(job("slow"))
        loop = work_loop(source, slow)
        phases = [loop.health().phase]
        working = asyncio.create_task(loop.run())
        await source.until(lambda: loop._running)
        assert loop.health().ready
        phases.append(loop.health().phase)
        loop.stop()
        await source.until(lambda: source.beats and source.beats[-1].stopping)
        phases.append(loop.health().phase)
        let_go.set()
        await working
        phases.append(loop.health().phase)
        assert phases == ["starting", "working", "stopping", "stopped"]

    go(main)


def test_a_full_worker_that_claims_nothing_is_well() -> None:
    async def main() -> None:
        def hung() -> None:
            began.set()
            assert let_go.wait(DEADLINE)

        began, let_go = threading.Event(), threading.Event()
        source = FakeSource(*(job("hung") for _ in range(4)))
        clock = Clock()
        loop = work_loop(source, hung)
        loop._pulses._clock = clock
        working = asyncio.create_task(loop.drain())
        await wait_for_thread(began)
        await source.until(lambda: loop._claimer._pulse._at is None)
        clock.now += 1000
        assert "claiming" not in loop.health().stalled
        assert "settling" not in loop.health().stalled
        let_go.set()
        await working

    go(main)


def test_an_event_loop_that_a_handler_blocks_is_seen_from_outside() -> None:
    async def main() -> None:
        async def blocking() -> None:
            began.set()
            assert let_go.wait(DEADLINE)

        def look() -> None:
            assert began.wait(DEADLINE)
            clock.now += 1000
            seen.append(loop.health())
            let_go.set()

        seen: list[Health] = []
        began, let_go = threading.Event(), threading.Event()
        source = FakeSource(job("blocking"))
        loop = work_loop(source, blocking)
        loop._pulses._clock = clock = Clock()
        watcher = threading.Thread(target=look)
        watcher.start()
        await loop.drain()
        watcher.join()
        assert seen[0].stalled["event loop"] >= 999

    go(main)


def test_a_worker_that_has_stopped_is_not_stalled() -> None:
    async def main() -> None:
        source = FakeSource()
        loop = work_loop(source)
        loop._pulses._clock = clock = Clock()
        working = asyncio.create_task(loop.run())
        await source.until(lambda: "wait" in source.calls)
        loop.stop()
        await working
        clock.now += 1000
        assert loop.health().alive

    go(main)
