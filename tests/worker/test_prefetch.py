"""What is prefetched and does not begin soon goes back, since an idle worker may want it."""

from __future__ import annotations

import asyncio

from howdah.model.outcome import Event
from howdah.worker.attempt import Attempt
from howdah.worker.slots import LONGEST_WAIT, QueueSlots
from howdah.worker.verdict import GIVEN_BACK
from tests.worker.fake_source import FakeSource, filled, go, job, work_loop


def buffered(queue: QueueSlots, count: int, at: float) -> list[Attempt]:
    attempts = [Attempt(job(), at + 60, at) for _ in range(count)]
    queue.put(attempts)
    return attempts


def test_only_what_has_waited_too_long_is_taken_out() -> None:
    queue = QueueSlots(2, 10)
    old, new = buffered(queue, 2, at=100.0), buffered(queue, 1, at=100.0 + LONGEST_WAIT)
    assert queue.overdue(100.0 + LONGEST_WAIT / 2) == []
    assert queue.overdue(100.0 + LONGEST_WAIT) == old
    assert list(queue._buffer) == new


def test_after_a_wrong_guess_nothing_is_prefetched_until_attempts_are_short_again() -> None:
    queue = QueueSlots(10, 10)
    queue.running = 11
    queue.free(0.001)
    assert queue.room() == 10
    buffered(queue, 10, at=0.0)
    queue.overdue(10.0)
    assert queue.room() == 0
    for _ in range(50):
        queue.running += 1
        queue.free(0.001)
    assert queue.room() == 10


async def quick() -> None: ...


def test_a_busy_worker_leaves_jobs_to_an_idle_one() -> None:
    async def main() -> None:
        async def slow() -> None:
            await let_go.wait()

        let_go = asyncio.Event()
        source = FakeSource(*(job("quick") for _ in range(50)), *(job("slow") for _ in range(20)))
        loop = work_loop(source, quick, slow, queues={"default": 3})
        working = asyncio.create_task(loop.run())
        waiting = await filled(source, loop, "slow")
        await source.until(lambda: [one for one, report in source.reports if report is GIVEN_BACK] == waiting)
        assert loop._queues["default"].room() == 0  # and it does not fetch them again and again
        let_go.set()
        await source.until(lambda: list(source.events().values()).count(Event.COMPLETE) == 70 - len(waiting))
        loop.stop()
        await working

    go(main)
