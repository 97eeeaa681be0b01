"""`ctx.transaction()`: committed with the report, or not at all."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from howdah.model.errors import LeaseLost, LostReason
from howdah.model.job import Drained, JobState
from howdah.model.lease import Lost
from howdah.model.outcome import Complete, Discard, Event, Snooze
from howdah.model.source_errors import TransactionFailed
from howdah.worker.context import Context
from tests.worker.fake_source import FakeSource, FakeTransaction, go, job, wait_until_asked, work_loop

COMMITTED = ["open", "settle", "commit"]
ROLLED_BACK = ["open", "abandon"]


def run(function: Any, settle_error: Exception | None = None) -> tuple[FakeSource, FakeTransaction, Drained]:
    source = FakeSource(job(function.__name__))
    source.transaction_error = settle_error
    done = asyncio.run(work_loop(source, function).drain())
    return source, source.transactions[0], done


def both(body: Any, end: Any) -> list[Any]:
    """The same handler, sync and async: `body(conn)` runs in the block, `end()` gives what it returns."""

    def threaded(ctx: Context) -> Any:
        with ctx.transaction() as conn:
            body(conn)
        return end()

    async def awaited(ctx: Context) -> Any:
        async with ctx.transaction() as conn:
            body(conn)
        return end()

    return [threaded, awaited]


def nothing(*_: Any) -> None: ...


def breaks(*_: Any) -> None:
    raise KeyError("x")


@pytest.mark.parametrize("which", [0, 1])
def test_what_a_handler_returns_is_committed_with_its_writes(which: int) -> None:
    source, transaction, done = run(both(nothing, lambda: {"rows": 1})[which])
    assert transaction.log == COMMITTED
    assert transaction.report is not None
    assert transaction.report.result == '{"rows":1}'
    assert source.reports == []
    assert done.completed == 1
    assert len(transaction.threads) == 1


def test_a_sync_handlers_transaction_stays_in_its_thread() -> None:
    _, transaction, _ = run(both(nothing, nothing)[0])
    assert threading.get_ident() not in transaction.threads


def test_a_return_inside_the_block_commits() -> None:
    async def inside(ctx: Context) -> int:
        async with ctx.transaction():
            return 3

    _, transaction, _ = run(inside)
    assert transaction.log == COMMITTED
    assert transaction.report is not None
    assert transaction.report.result == "3"


@pytest.mark.parametrize("which", [0, 1])
def test_a_returned_outcome_is_settled_in_the_transaction(which: int) -> None:
    source, transaction, done = run(both(nothing, lambda: Snooze(3))[which])
    assert transaction.log == COMMITTED
    assert source.reports == []
    assert done == Drained(snoozed=1)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("error", [KeyError("x"), Snooze(3), Complete(1), SystemExit(1)])
def test_what_is_raised_rolls_back_and_is_reported_outside(which: int, error: BaseException) -> None:
    def body(_: Any) -> None:
        raise error

    source, transaction, _ = run(both(body, nothing)[which])
    assert transaction.log == ROLLED_BACK
    ((_, report),) = source.reports
    wanted = {Snooze: Event.SNOOZE, Complete: Event.COMPLETE}
    assert report.event is wanted.get(type(error), Event.FAIL)


@pytest.mark.parametrize("which", [0, 1])
def test_an_exception_after_the_block_rolls_back_too(which: int) -> None:
    source, transaction, done = run(both(nothing, breaks)[which])
    assert transaction.log == ROLLED_BACK
    assert [report.event for _, report in source.reports] == [Event.FAIL]
    assert done.failed == 1


def swallowing(end: Any) -> list[Any]:
    def threaded(ctx: Context) -> Any:
        with pytest.raises(KeyError), ctx.transaction():
            breaks()
        return end()

    async def awaited(ctx: Context) -> Any:
        with pytest.raises(KeyError):
            async with ctx.transaction():
                breaks()
        return end()

    return [threaded, awaited]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("value", [None, 7, Complete(7)])
def test_a_job_does_not_complete_without_its_writes(which: int, value: Any) -> None:
    source, transaction, done = run(swallowing(lambda: value)[which])
    assert transaction.log == ROLLED_BACK
    ((_, report),) = source.reports
    assert report.event is Event.FAIL
    assert report.error is not None
    assert report.error.message == "its transaction was rolled back"
    assert done.failed == 1


@pytest.mark.parametrize("which", [0, 1])
def test_after_a_rollback_a_handler_can_still_give_up(which: int) -> None:
    source, _, done = run(swallowing(lambda: Discard("cannot be done"))[which])
    assert [report.event for _, report in source.reports] == [Event.DISCARD]
    assert done.discarded == 1


@pytest.mark.parametrize("which", [0, 1])
def test_a_result_that_cannot_be_kept_takes_the_writes_with_it(which: int) -> None:
    source, transaction, done = run(both(nothing, object)[which])
    assert transaction.log == ROLLED_BACK
    assert [report.event for _, report in source.reports] == [Event.FAIL]
    assert done.failed == 1


def lost(reason: LostReason) -> LeaseLost:
    return LeaseLost(job().lease, JobState.RUNNING, reason)


@pytest.mark.parametrize("which", [0, 1])
def test_a_superseded_job_fails_outside_the_transaction_since_its_writes_are_gone(which: int) -> None:
    source, transaction, _ = run(both(nothing, nothing)[which], lost("superseded"))
    assert transaction.log == ["open", "settle", "abandon"]
    assert [report.event for _, report in source.reports] == [Event.FAIL]


@pytest.mark.parametrize("which", [0, 1])
def test_the_report_of_a_lost_lease_is_sent_again_as_evidence(which: int) -> None:
    source, transaction, _ = run(both(nothing, nothing)[which], lost("taken"))
    assert transaction.log == ["open", "settle", "abandon"]
    assert [report.event for _, report in source.reports] == [Event.COMPLETE]


@pytest.mark.parametrize("which", [0, 1])
def test_nothing_is_reported_after_an_unknown_outcome(which: int) -> None:
    source, transaction, done = run(both(nothing, nothing)[which], OSError("the answer to the commit was lost"))
    assert transaction.log == ["open", "settle", "abandon"]
    assert source.reports == []
    assert done == Drained()


@pytest.mark.parametrize("which", [0, 1])
def test_writes_that_cannot_be_committed_fail_the_attempt(which: int) -> None:
    source, transaction, done = run(both(nothing, nothing)[which], TransactionFailed(ValueError("deferred constraint")))
    assert transaction.log == ["open", "settle", "abandon"]
    ((_, report),) = source.reports
    assert report.error is not None
    assert (report.event, report.error.type, report.error.message) == (Event.FAIL, "ValueError", "deferred constraint")
    assert done.failed == 1


@pytest.mark.parametrize("which", [0, 1])
def test_a_lost_lease_rolls_back(which: int) -> None:
    def threaded(ctx: Context) -> None:
        with ctx.transaction():
            ctx.extend(100)
            wait_until_asked(ctx)

    async def awaited(ctx: Context) -> None:
        async with ctx.transaction():
            ctx.extend(100)
            await asyncio.Event().wait()

    source = FakeSource(job([threaded, awaited][which].__name__))
    source.answer = lambda asked: Lost(asked.lease, "taken")
    asyncio.run(work_loop(source, threaded, awaited).drain())
    assert source.transactions[0].log == ROLLED_BACK
    assert source.reports == []


def test_a_second_cancel_request_does_not_interrupt_the_rollback() -> None:
    async def main() -> None:
        async def slow(ctx: Context) -> None:
            async with ctx.transaction():
                transaction = source.transactions[0]
                transaction.aabandon = slowly  # type: ignore[method-assign]
                raise KeyError("x")

        async def slowly() -> None:
            source.transactions[0].log.append("begin")
            (attempt,) = loop._running
            assert attempt.ask("cancelled")
            loop._interrupt(attempt)
            for _ in range(5):
                await asyncio.sleep(0)
            source.transactions[0].log.append("end")

        source = FakeSource(job("slow"))
        loop = work_loop(source, slow)
        await loop.drain()
        assert source.transactions[0].log == ["open", "begin", "end"]
        assert [report.event for _, report in source.reports] == [Event.FAIL]

    go(main)


def test_a_transaction_that_was_never_entered_does_not_matter() -> None:
    async def idle(ctx: Context) -> None:
        ctx.transaction()

    source, transaction, _ = run(idle)
    assert transaction.log == []
    assert [report.event for _, report in source.reports] == [Event.COMPLETE]


@pytest.mark.parametrize("which", [0, 1])
def test_there_is_one_transaction_per_attempt(which: int) -> None:
    def threaded(ctx: Context) -> None:
        with ctx.transaction(), pytest.raises(RuntimeError, match="one transaction"):
            ctx.transaction()

    async def awaited(ctx: Context) -> None:
        transaction = ctx.transaction()
        async with transaction:
            pass
        with pytest.raises(RuntimeError, match="one transaction"):
            async with transaction:
                pass

    _, transaction, done = run([threaded, awaited][which])
    assert transaction.log == COMMITTED
    assert done.completed == 1


@pytest.mark.parametrize("which", [0, 1])
def test_the_wrong_with_is_refused_with_the_right_one(which: int) -> None:
    async def enter(ctx: Context) -> None:
        async with ctx.transaction():
            pass

    def threaded(ctx: Context) -> None:
        with pytest.raises(RuntimeError, match="write `with ctx"):
            asyncio.run(enter(ctx))

    async def awaited(ctx: Context) -> None:
        with pytest.raises(RuntimeError, match="write `async with ctx"), ctx.transaction():
            pass

    source, transaction, _ = run([threaded, awaited][which])
    assert transaction.log == []
    assert [report.event for _, report in source.reports] == [Event.COMPLETE]


def test_a_transaction_that_does_not_open_fails_the_attempt() -> None:
    async def main() -> None:
        async def hopeful(ctx: Context) -> None:
            transaction = ctx.transaction()

            async def fails() -> str:
                raise OSError("no connection")

            source.transactions[0].aopen = fails  # type: ignore[method-assign]
            async with transaction:
                raise AssertionError("entered")

        source = FakeSource(job("hopeful"))
        done = await work_loop(source, hopeful).drain()
        assert source.transactions[0].log == ["abandon"]
        assert done.failed == 1

    go(main)
