"""Reports go out in groups, again after an error, and one bad report costs only itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from howdah.model.outcome import Event, Report
from howdah.model.source_errors import BatchRefused
from howdah.worker import settler as module
from howdah.worker.attempt import Attempt
from howdah.worker.health import Pulses
from howdah.worker.settler import Pending, Settler
from howdah.worker.source import Settled
from tests.worker.fake_source import Clock, FakeSource, go, job

DONE = Report(Event.COMPLETE)


class Settling:
    def __init__(self) -> None:
        self.clock = Clock()
        self.source = FakeSource()
        self.answers: list[Settled | None] = []
        self.settler = Settler(self.source, self._settled, Pulses().of("settling"), self.clock)

    def _settled(self, pending: Sequence[Pending], answers: Sequence[Settled | None]) -> None:
        assert len(pending) == len(answers)
        self.answers.extend(answers)

    def put(self, count: int = 1) -> list[Attempt]:
        attempts = [Attempt(job(), self.clock() + 60) for _ in range(count)]
        for attempt in attempts:
            self.settler.put(attempt, DONE)
        return attempts

    async def to_the_end(self) -> None:
        self.settler.close()
        await self.settler.run()


def test_reports_go_out_in_batches() -> None:
    async def main() -> None:
        settling = Settling()
        running = asyncio.create_task(settling.settler.run())
        settling.put(99)
        await settling.settler.flush()
        assert settling.source.batches == [99]
        settling.put(1200)
        await settling.settler.flush()
        assert settling.source.batches == [99, 500, 500, 200]
        settling.settler.close()
        await running

    go(main)


def test_a_single_report_goes_out_by_itself_after_a_moment() -> None:
    async def main() -> None:
        settling = Settling()
        running = asyncio.create_task(settling.settler.run())
        await settling.source.open(None, ())  # type: ignore[arg-type]
        settling.put()
        await settling.source.until(lambda: settling.source.reports)
        settling.settler.close()
        await running
        assert len(settling.answers) == 1

    go(main)


def test_a_hundred_reports_do_not_wait_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 1000.0)

    async def main() -> None:
        settling = Settling()
        running = asyncio.create_task(settling.settler.run())
        await settling.source.open(None, ())  # type: ignore[arg-type]
        settling.put(100)
        await settling.source.until(lambda: len(settling.source.reports) == 100)
        settling.settler.close()
        await running

    go(main)


def test_reports_are_sent_again_after_an_error(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        settling = Settling()
        settling.source.errors["settle"] = [OSError("away"), OSError("away")]
        attempts = settling.put(3)
        await settling.to_the_end()
        assert [one.id for one, _ in settling.source.reports] == [attempt.job.id for attempt in attempts]
        assert settling.settler.unsent == 0
        assert len(caplog.records) == 1

    go(main)


def test_reports_are_dropped_a_minute_after_the_end_of_their_lease(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        settling = Settling()
        (early,) = settling.put()
        early.deadline += 10_000  # an extension since then does not keep it for ever
        settling.clock.now += 30
        settling.put()
        settling.clock.now += 100
        settling.source.errors["settle"] = [OSError("away")]
        await settling.to_the_end()
        assert settling.answers == [None, settling.answers[1]]
        assert [one.id for one, _ in settling.source.reports] != [early.job.id]
        assert [r.levelno for r in caplog.records if "dropped" in r.message] == [logging.ERROR]

    go(main)


def test_a_bad_report_costs_only_itself() -> None:
    async def main() -> None:
        settling = Settling()
        attempts = settling.put(100)
        bad = {attempts[3].job.id, attempts[77].job.id}
        settling.source.refused = bad
        await settling.to_the_end()
        events = settling.source.events()
        assert {number for number, event in events.items() if event is Event.FAIL} == bad
        assert len(events) == 100
        assert len(settling.answers) == 100

    go(main)


def test_a_report_that_can_never_be_written_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        settling = Settling()
        settling.put()
        settling.source.errors["settle"] = [BatchRefused(ValueError("no"))] * 2
        await settling.to_the_end()
        assert settling.answers == [None]
        assert "no report of it can be written" in caplog.text

    go(main)


def test_too_many_unsent_reports_hold_the_slots_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_UNSENT", 3)

    async def main() -> None:
        settling = Settling()
        settling.put(3)
        assert settling.settler.full
        waiting = asyncio.create_task(settling.settler.room())
        await asyncio.sleep(0)
        assert not waiting.done()
        running = asyncio.create_task(settling.settler.run())
        await waiting
        assert not settling.settler.full
        settling.settler.close()
        await running

    go(main)
