"""Slots are filled and never overfilled; an error of the source costs time and nothing else."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from howdah.model.errors import InvalidOption
from howdah.worker import slots as slots_module
from howdah.worker import trouble as trouble_module
from howdah.worker.settings import WorkerSettings
from howdah.worker.slots import QueueSlots
from howdah.worker.trouble import Trouble
from tests.worker.fake_source import FakeSource, filled, go, job, work_loop


@pytest.mark.parametrize("slots", [1, 3, 10])
def test_slots_are_all_used_and_never_exceeded(slots: int) -> None:
    running = 0
    most = 0
    runs: Counter[int] = Counter()

    async def busy(ctx: Any) -> None:
        nonlocal running, most
        runs[ctx.job_id] += 1
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    source = FakeSource(*(job("busy") for _ in range(200)))
    done = asyncio.run(work_loop(source, busy, queues={"default": slots}).drain())
    assert done.completed == 200
    assert most == slots
    assert set(runs.values()) == {1}
    assert len(runs) == 200
    most_asked = max(quota["default"] for quota, _ in source.claims)
    assert most_asked <= 2 * slots


def test_a_worker_with_full_slots_and_buffer_claims_nothing() -> None:
    async def main() -> None:
        async def quick() -> None: ...

        async def slow() -> None:
            await let_go.wait()

        let_go = asyncio.Event()
        source = FakeSource(*(job("quick") for _ in range(20)), *(job("slow") for _ in range(50)))
        loop = work_loop(source, quick, slow, queues={"default": 4})
        working = asyncio.create_task(loop.run())
        buffered = await filled(source, loop, "slow")
        claims = len(source.claims)
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(source.claims) == claims
        assert 2 < len(buffered) <= 4
        assert len(source.available["default"]) == 50 - 4 - len(buffered)
        let_go.set()
        await source.until(lambda: len(source.reports) == 70)
        loop.stop()
        await working

    go(main)


def test_nothing_is_kept_from_other_workers_that_would_wait_long() -> None:
    queue = QueueSlots(10, 100)
    assert queue.room() == 10  # nothing is known yet
    queue.running = 10
    queue.free(0.0001)
    assert queue.room() == 1 + 10
    for _ in range(100):
        queue.running += 1
        queue.free(60.0)
    assert queue.room() == 1


def test_prefetch_can_be_switched_off() -> None:
    queue = QueueSlots(10, 0)
    queue.running = 10
    queue.free(0.0001)
    assert queue.room() == 1


def test_a_queue_is_asked_again_when_half_of_its_buffer_is_empty() -> None:
    async def main() -> None:
        queue = QueueSlots(10, 100)
        queue.running = 10
        queue.free(0.0001)
        queue.running = 10
        queue.put([None] * 10)  # type: ignore[list-item]
        rooms = []
        while queue._buffer:
            queue._buffer.popleft()
            rooms.append(queue.room())
        assert rooms == [0, 0, 0, 0, 5, 6, 7, 8, 9, 10]

    go(main)


def test_every_queue_is_the_first_in_turn() -> None:
    async def quick() -> None: ...

    names = ["a", "b", "c"]
    source = FakeSource(*(job("quick", queue=name) for name in names for _ in range(30)))
    done = asyncio.run(work_loop(source, quick, queues=dict.fromkeys(names, 2)).drain())
    assert done.completed == 90
    firsts = {next(iter(quotas)) for quotas, _ in source.claims[:3]}
    assert firsts == set(names)


def test_a_full_queue_does_not_stop_another() -> None:
    async def main() -> None:
        async def slow() -> None:
            await let_go.wait()

        async def quick() -> None: ...

        let_go = asyncio.Event()
        source = FakeSource(*(job("slow", queue="a") for _ in range(10)))
        loop = work_loop(source, slow, quick, queues={"a": 2, "b": 2}, poll=1000.0)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: "wait" in source.calls)
        source.add(*(job("quick", queue="b") for _ in range(10)))
        source.ring()
        await source.until(lambda: len(source.reports) == 10)
        # a freed slot of the queue that had more wakes the claimer, although nothing rings
        let_go.set()
        await source.until(lambda: len(source.reports) == 20)
        loop.stop()
        await working

    go(main)


def test_an_idle_worker_arms_looks_again_and_waits() -> None:
    async def main() -> None:
        source = FakeSource()
        loop = work_loop(source, poll=1000.0)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: "wait" in source.calls)
        calls = [call for call in source.calls if call != "beat"]
        assert calls == ["open", "claim", "arm", "claim", "wait"]
        loop.stop()
        await working

    go(main)


def test_a_job_that_comes_between_the_claim_and_the_arming_is_seen() -> None:
    async def main() -> None:
        async def quick() -> None: ...

        source = FakeSource()
        arm = source.arm

        async def late() -> None:
            await arm()
            if not source.reports:
                source.add(job("quick"))

        source.arm = late  # type: ignore[method-assign]
        loop = work_loop(source, quick, poll=1000.0)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: source.reports)
        loop.stop()
        await working

    go(main)


def test_polling_alone_finds_new_jobs() -> None:
    async def main() -> None:
        async def quick() -> None: ...

        source = FakeSource()
        loop = work_loop(source, quick, poll=0.002)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: "wait" in source.calls)
        source.add(job("quick"))
        await source.until(lambda: source.reports)
        loop.stop()
        await working

    go(main)


@pytest.mark.parametrize("method", ["claim", "arm", "wait", "settle"])
def test_a_worker_goes_on_after_errors_of_its_source(
    method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(trouble_module, "FIRST_DELAY", 0.001)

    async def main() -> None:
        async def quick() -> None: ...

        source = FakeSource(job("quick"))
        source.errors[method] = [OSError("away")] * 6
        loop = work_loop(source, quick, poll=0.001)
        working = asyncio.create_task(loop.run())
        await source.until(lambda: source.reports and not source.errors[method])
        source.add(job("quick"))
        await source.until(lambda: len(source.reports) == 2)
        assert len([r for r in caplog.records if "away" in r.message]) == 1
        loop.stop()
        await working

    go(main)


def test_backoff_doubles_up_to_five_seconds_and_begins_again() -> None:
    trouble = Trouble("testing")
    delays = [trouble.delay(OSError()) for _ in range(10)]
    assert 0.05 <= delays[0] <= 0.1
    assert 0.1 <= delays[1] <= 0.2
    assert all(2.5 <= delay <= 5 for delay in delays[7:])
    trouble.over()
    assert trouble.delay(OSError()) <= 0.1


def test_a_source_that_does_not_open_ends_the_worker() -> None:
    source = FakeSource(job())
    source.errors["open"] = [OSError("no such database")]
    with pytest.raises(OSError, match="no such database"):
        asyncio.run(work_loop(source).run())
    assert source.claims == []
    assert source.calls[-1] == "close"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("queues", {}),
        ("queues", {"": 1}),
        ("queues", {"a": 0}),
        ("poll", 0),
        ("grace", -1),
        ("threads", 0),
        ("prefetch", -1),
    ],
)
def test_settings_out_of_range_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidOption):
        WorkerSettings(**{name: value})


def test_the_buffer_is_never_over_a_hundred() -> None:
    queue = QueueSlots(1000, 10_000)
    queue.running = 1000
    queue.free(0.00001)
    assert queue.room() == 1 + slots_module.MAX_PREFETCH
