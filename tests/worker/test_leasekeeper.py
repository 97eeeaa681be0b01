"""Leases are extended in time, and an attempt whose lease is not ends before somebody else may begin."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from howdah.model.job import Lease, Vitals
from howdah.model.lease import Answer, Busy, Extended, Extension, Lost
from howdah.worker.attempt import Attempt
from howdah.worker.context import Context
from howdah.worker.health import Pulses
from howdah.worker.leasekeeper import LeaseKeeper
from howdah.worker.loop import WorkLoop
from howdah.worker.settings import WorkerSettings
from tests.worker.fake_source import (
    DEADLINE,
    THEN,
    WORKER,
    Clock,
    FakeSource,
    go,
    handler,
    job,
    wait_for_thread,
    work_loop,
)


class Kept:
    """A keeper that is stepped by hand, with attempts of 60 s leases just begun."""

    def __init__(self, attempts: int = 1, seconds: float = 60.0) -> None:
        self.clock = Clock()
        self.source = FakeSource()
        self.told: list[Attempt] = []
        self.vitals = Vitals(running=attempts)
        self.keeper = LeaseKeeper(self.source, self.told.append, lambda: self.vitals, Pulses(self.clock), self.clock)
        self.attempts = [Attempt(job(lease_seconds=seconds), self.clock() + seconds) for _ in range(attempts)]
        self.keeper.hold(self.attempts)

    def extended(self) -> list[Lease]:
        return [extension.lease for extension in self.source.extensions]


def test_a_lease_is_extended_from_a_third_of_its_length() -> None:
    kept = Kept()
    kept.clock.now += 19.9
    kept.keeper.extend()
    assert kept.extended() == []
    kept.clock.now += 0.2
    kept.keeper.extend()
    assert kept.extended() == [kept.attempts[0].job.lease]
    assert kept.attempts[0].deadline == kept.clock() + 60
    assert kept.attempts[0].expires_at == THEN


def test_a_cancel_request_is_passed_on_long_before_the_lease_is_extended() -> None:
    kept = Kept(attempts=2, seconds=3600)
    asked, other = kept.attempts
    asked.began_at = other.began_at = kept.clock()
    kept.source.requests[asked.job.id] = "cancelled"
    kept.clock.now += 1.5
    kept.keeper.extend()
    assert (kept.told, asked.cancel, other.cancel) == ([asked], "cancelled", None)
    assert kept.extended() == []


def test_short_attempts_are_not_asked_about() -> None:
    kept = Kept()
    kept.attempts[0].began_at = kept.clock()
    kept.clock.now += 0.9
    kept.keeper.extend()
    assert "asked" not in kept.source.calls


def test_the_deadline_counts_from_before_the_request() -> None:
    kept = Kept()

    def slow(extension: Extension) -> Answer:
        kept.clock.now += 7
        return Extended(extension.lease, THEN)

    kept.source.answer = slow
    kept.clock.now += 30
    before = kept.clock()
    kept.keeper.extend()
    assert kept.attempts[0].deadline == before + 60


def test_a_longer_lease_is_asked_for_once_and_never_shortened() -> None:
    kept = Kept()
    (attempt,) = kept.attempts
    attempt.wanted_until = kept.clock() + 600
    kept.keeper.extend()
    kept.keeper.extend()
    assert [extension.seconds for extension in kept.source.extensions] == [pytest.approx(600)]
    until = attempt.deadline
    attempt.progress = "{}"
    kept.keeper.extend()
    assert attempt.deadline == until
    assert kept.source.extensions[-1].progress == "{}"


def test_progress_goes_out_once_and_again_after_an_error() -> None:
    kept = Kept()
    kept.attempts[0].progress = '{"fraction":0.5}'
    kept.source.errors["extend"] = [OSError("away")]
    kept.keeper.extend()
    assert kept.source.extensions == []
    kept.keeper.extend()
    kept.keeper.extend()
    assert [extension.progress for extension in kept.source.extensions] == ['{"fraction":0.5}']


def test_an_attempt_that_cannot_be_extended_is_fenced_before_its_lease_ends() -> None:
    kept = Kept()
    (attempt,) = kept.attempts
    kept.source.errors["extend"] = [OSError("away")] * 100
    kept.clock.now += 56.9
    kept.keeper.extend()
    kept.keeper.fence()
    assert not attempt.lost
    kept.clock.now += 0.2
    kept.keeper.extend()
    kept.keeper.fence()
    assert attempt.lost
    assert kept.told == [attempt]
    kept.keeper.fence()
    kept.source.errors.clear()
    kept.keeper.extend()
    assert kept.told == [attempt]
    assert kept.extended() == []


def test_the_fence_thread_wakes_for_the_next_fence() -> None:
    kept = Kept(seconds=1.0)
    kept.clock.now += 0.9
    assert kept.keeper.fence() == pytest.approx(0.05)
    kept.clock.now += 0.051
    kept.keeper.fence()
    assert kept.attempts[0].lost


def test_a_busy_row_is_only_asked_again() -> None:
    kept = Kept()
    kept.source.answer = lambda asked: Busy(asked.lease)
    kept.clock.now += 30
    kept.keeper.extend()
    kept.keeper.extend()
    assert len(kept.extended()) == 2
    assert not kept.attempts[0].lost
    kept.clock.now += 28
    kept.keeper.fence()
    assert kept.attempts[0].lost


def test_one_lost_lease_does_not_touch_the_others() -> None:
    kept = Kept(3)
    first = kept.attempts[0]
    kept.source.answer = lambda asked: (
        Lost(asked.lease, "taken") if asked.lease == first.job.lease else Extended(asked.lease, THEN)
    )
    kept.clock.now += 30
    kept.keeper.extend()
    assert [attempt.lost for attempt in kept.attempts] == [True, False, False]


def test_what_has_ended_is_kept_but_no_more_fenced_or_lost() -> None:
    kept = Kept()
    (attempt,) = kept.attempts
    attempt.ended = True
    kept.clock.now += 30
    kept.keeper.extend()
    assert len(kept.extended()) == 1
    kept.source.answer = lambda asked: Lost(asked.lease, "finished")
    kept.clock.now += 100
    kept.keeper.fence()
    assert kept.keeper._snapshot() == [attempt]
    kept.keeper.extend()
    assert not attempt.lost
    assert kept.told == []


def test_a_cancel_request_is_told_once() -> None:
    kept = Kept()
    kept.source.answer = lambda asked: Extended(asked.lease, THEN, "cancelled")
    for _ in range(3):
        kept.clock.now += 30
        kept.keeper.extend()
    assert kept.told == kept.attempts
    assert kept.attempts[0].cancel == "cancelled"


def test_a_lost_lease_outranks_a_cancel_request() -> None:
    attempt = Attempt(job(), 0.0)
    assert attempt.ask("cancelled")
    assert attempt.ask("stopping")
    assert attempt.cancel == "cancelled"
    assert attempt.ask("lost")
    assert attempt.cancel == "lost"
    assert not attempt.ask("cancelled")


def test_a_beat_comes_every_five_seconds_and_when_the_worker_stops() -> None:
    kept = Kept(2)
    for _ in range(11):
        kept.keeper.extend()
        kept.clock.now += 1
    assert kept.source.beats == [Vitals(2)] * 3
    kept.vitals = Vitals(2, stopping=True)
    kept.keeper.extend()
    assert kept.source.beats[-1] == Vitals(2, stopping=True)


@pytest.mark.parametrize(("seconds", "tick"), [(60.0, 1.0), (3.0, 0.5), (0.1, 0.02)])
def test_a_tick_is_a_sixth_of_the_shortest_lease(seconds: float, tick: float) -> None:
    assert Kept(1, seconds).keeper.extend() == pytest.approx(tick)


def test_trouble_is_logged_once_a_second(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    kept.clock.now += 30
    kept.source.errors["extend"] = [OSError("away")] * 100
    for _ in range(50):
        kept.keeper.extend()
    assert len(caplog.records) == 1


def test_a_handler_that_blocks_the_loop_keeps_its_lease() -> None:
    async def main() -> None:
        source = FakeSource(job("blocks", lease_seconds=0.2))

        async def blocks() -> str:
            times = 0
            while times < 3:
                assert again.wait(DEADLINE)
                again.clear()
                times += 1
            return "kept"

        again = threading.Event()
        answer = source.answer

        def note(asked: Extension) -> Answer:
            again.set()
            return answer(asked)

        source.answer = note
        done = await work_loop(source, blocks).drain()
        assert done.completed == 1
        assert len(source.extensions) >= 3

    go(main)


def test_an_attempt_ends_in_time_although_the_source_hangs() -> None:
    async def main() -> None:
        source = FakeSource(job("slow", lease_seconds=0.2))
        hanging, let_go = threading.Event(), threading.Event()

        def hang(asked: Extension) -> Answer:
            hanging.set()
            in_time.append(let_go.wait(DEADLINE))
            raise OSError("at last")

        async def slow(ctx: Context) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                seen.append(ctx.cancel_requested)
                let_go.set()

        seen: list[Any] = []
        in_time: list[bool] = []
        source.answer = hang
        await work_loop(source, slow).drain()
        assert hanging.is_set()
        assert in_time == [True]
        assert seen == ["lost"]
        assert source.reports == []

    go(main)


def test_short_leases_wake_the_keeper() -> None:
    async def main() -> None:
        source = FakeSource()
        keeper = LeaseKeeper(source, lambda attempt: None, Vitals, Pulses())
        extended = threading.Event()

        def answer(asked: Extension) -> Answer:
            extended.set()
            return Extended(asked.lease, THEN)

        source.answer = answer
        keeper.start()
        keeper.hold([Attempt(job(lease_seconds=0.12), keeper._clock() + 0.12)])
        await wait_for_thread(extended)
        keeper.stop()
        assert not any(thread.is_alive() for thread in keeper._threads)

    go(main)


def test_leases_that_end_together_are_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept(attempts=30)
    kept.clock.now += 60
    kept.keeper.fence()
    (record,) = caplog.records
    assert "leases could not be extended in time: the results of 30 attempts are refused" in record.getMessage()
    assert record.getMessage().endswith(" and 20 more")
    assert all(attempt.lost for attempt in kept.attempts)


@pytest.mark.parametrize("needs_start", [False, True])
def test_nothing_begins_on_a_lease_that_ended_while_the_process_was_stopped(needs_start: bool) -> None:
    """The fence has no turn between SIGCONT and the handler's first instruction: it is not even started here."""

    async def main() -> None:
        async def late() -> None:
            raise AssertionError("it must not begin")

        clock = Clock()
        source = FakeSource(job("late", needs_start=needs_start))
        source.keeps_leases = False
        answer = source.start if needs_start else source.claim

        async def stopped(*asked: Any) -> Any:
            answered = await answer(*asked)
            clock.now += 61
            return answered

        setattr(source, answer.__name__, stopped)
        settings = WorkerSettings({"default": 1}, poll=0.01)
        handlers = {"late": handler(late, "late")}
        await WorkLoop(source, handlers, settings, worker=WORKER, clock=clock).drain(limit=1)
        assert source.reports == []

    go(main)
