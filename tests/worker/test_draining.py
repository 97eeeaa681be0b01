"""A drain runs what is there, and says how it ended."""

from __future__ import annotations

import asyncio
import threading

import pytest

from howdah.model.job import Drained
from howdah.model.outcome import Cancel, Discard, Event, Release, Snooze
from howdah.worker.threads import Threads
from tests.worker.fake_source import DEADLINE, FakeSource, go, job, work_loop


async def quick() -> None: ...


def test_a_drain_of_nothing_ends() -> None:
    source = FakeSource()
    assert asyncio.run(work_loop(source, quick).drain()) == Drained()
    assert "wait" not in source.calls


def test_a_drain_counts_how_the_attempts_ended() -> None:
    async def ends(how: str) -> None:
        if how == "failed":
            raise ValueError
        if how != "completed":
            raise {"discarded": Discard("x"), "snoozed": Snooze(9), "cancelled": Cancel("x"), "released": Release("x")}[
                how
            ]

    hows = ["completed"] * 5 + ["failed"] * 4 + ["discarded"] * 3 + ["snoozed"] * 2 + ["cancelled"] + ["released"]
    source = FakeSource(*(job("ends", args={"how": how}) for how in hows))
    done = asyncio.run(work_loop(source, ends).drain())
    assert done == Drained(completed=5, failed=4, discarded=3, snoozed=3, cancelled=1)


@pytest.mark.parametrize("limit", [0, 1, 7, 100])
def test_a_limit_is_never_exceeded(limit: int) -> None:
    source = FakeSource(*(job("quick") for _ in range(50)))
    done = asyncio.run(work_loop(source, quick).drain(limit=limit))
    assert done.completed == min(limit, 50)
    assert sum(len(line) for line in source.available.values()) == max(0, 50 - limit)


def test_a_drain_runs_what_its_jobs_enqueue() -> None:
    async def main() -> None:
        async def chain(left: int) -> None:
            await asyncio.sleep(0)
            if left:
                source.add(job("chain", args={"left": left - 1}))

        source = FakeSource(job("chain", args={"left": 10}))
        assert (await work_loop(source, chain).drain()).completed == 11

    go(main)


def test_a_drain_runs_what_its_reports_make_available() -> None:
    async def main() -> None:
        source = FakeSource(job("quick"))
        settle = source.settle

        async def follow_up(reports: object) -> object:
            answers = await settle(reports)  # type: ignore[arg-type]
            if len(source.reports) < 3:
                source.add(job("quick"))
            return answers

        source.settle = follow_up  # type: ignore[method-assign,assignment]
        assert (await work_loop(source, quick).drain()).completed == 3

    go(main)


def test_a_drain_waits_for_a_slow_job_with_free_slots_beside_it() -> None:
    async def main() -> None:
        async def slow() -> None:
            await source.until(lambda: source.calls.count("claim") >= 2)
            for _ in range(50):
                await asyncio.sleep(0)
            source.add(job("quick"))

        source = FakeSource(job("slow"))
        done = await work_loop(source, slow, quick).drain()
        assert done.completed == 2
        assert source.calls.count("claim") < 8

    go(main)


def test_a_drain_fills_a_freed_slot_beside_a_slow_job() -> None:
    async def main() -> None:
        async def slow() -> None:
            await source.until(lambda: len(source.reports) == 10)

        source = FakeSource(job("slow"), *(job("quick") for _ in range(10)))
        done = await work_loop(source, slow, quick, queues={"default": 2}, prefetch=0).drain()
        assert done.completed == 11

    go(main)


def test_a_drain_outlasts_the_grace_of_its_jobs() -> None:
    async def main() -> None:
        async def slow() -> None:
            await asyncio.to_thread(threading.Event().wait, 0.05)

        source = FakeSource(job("slow"))
        done = await work_loop(source, slow, grace=0.0).drain(limit=1)
        assert done.completed == 1

    go(main)


def test_a_timeout_is_a_graceful_stop() -> None:
    async def main() -> None:
        async def slow() -> None:
            await asyncio.Event().wait()

        source = FakeSource(job("quick"), job("slow"))
        done = await work_loop(source, quick, slow, grace=0.01).drain(timeout=0.05)
        assert done == Drained(completed=1)
        assert sorted(source.events().values()) == [Event.COMPLETE, Event.RELEASE]

    go(main)


def test_a_drain_does_not_wait_for_the_grace_or_the_poll() -> None:
    async def main() -> None:
        source = FakeSource(job("quick"))
        async with asyncio.timeout(DEADLINE):
            await work_loop(source, quick, grace=1000.0, poll=1000.0).drain()

    go(main)


def test_handlers_run_in_daemon_threads_that_end_with_the_worker() -> None:
    async def main() -> None:
        threads = Threads(2)
        found = [await threads.run(threading.current_thread) for _ in range(5)]
        assert len(set(found)) == 1  # an idle one is used again
        assert found[0].daemon
        threads.close()
        await asyncio.to_thread(found[0].join, DEADLINE)
        assert not found[0].is_alive()

    go(main)


def test_a_thread_hands_on_what_its_function_raises() -> None:
    async def main() -> None:
        threads = Threads(1)

        def fails() -> None:
            raise KeyError("x")

        with pytest.raises(KeyError):
            await threads.run(fails)
        threads.close()

    go(main)


def test_a_source_that_keeps_no_leases_gets_no_thread() -> None:
    async def main() -> None:
        before = threading.active_count()

        async def look() -> int:
            return threading.active_count()

        source = FakeSource(job("look"), job("look", lease_seconds=0.01))
        source.keeps_leases = False
        done = await work_loop(source, look).drain()
        assert done.completed == 2
        assert {report.result for _, report in source.reports} == {str(before)}
        assert source.extensions == []
        assert source.beats == []

    go(main)
