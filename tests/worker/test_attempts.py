"""One attempt: what the handler returns or raises, and what is reported."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from howdah.model.errors import InvalidArgs, InvalidOption, LeaseLost
from howdah.model.job import JobState
from howdah.model.outcome import (
    Cancel,
    Complete,
    Discard,
    Event,
    Fail,
    Outcome,
    Release,
    Report,
    RetryAfter,
    Snooze,
)
from howdah.model.source_errors import NothingSent
from howdah.worker.attempt import Attempt
from howdah.worker.context import Context
from howdah.worker.handler import Handler
from howdah.worker.loop import WorkLoop
from howdah.worker.settings import WorkerSettings
from tests.worker.fake_source import THEN, WORKER, FakeSource, go, job, work_loop


def report_of(function: Any, **fields: Any) -> Report:
    """What is reported of one job of the function's kind."""
    source = FakeSource(job(function.__name__, **fields))
    asyncio.run(work_loop(source, function).drain(limit=1))
    ((_, report),) = source.reports
    return report


OUTCOMES: list[tuple[Any, Event]] = [
    (None, Event.COMPLETE),
    ({"rows": 3}, Event.COMPLETE),
    (Complete(3), Event.COMPLETE),
    (Fail("no"), Event.FAIL),
    (RetryAfter(3), Event.FAIL),
    (Snooze(3), Event.SNOOZE),
    (Release("not now"), Event.RELEASE),
    (Cancel("no"), Event.CANCEL),
    (Discard("no"), Event.DISCARD),
    (object(), Event.FAIL),
    (Outcome("none of ours"), Event.FAIL),
]


@pytest.mark.parametrize(("value", "event"), OUTCOMES)
def test_what_a_handler_returns_is_its_outcome(value: object, event: Event) -> None:
    async def awaited() -> object:
        return value

    def threaded() -> object:
        return value

    assert report_of(awaited).event is event
    assert report_of(threaded).event is event


@pytest.mark.parametrize(
    ("error", "event"),
    [
        (Snooze(3), Event.SNOOZE),
        (Discard("no"), Event.DISCARD),
        (ValueError("no"), Event.FAIL),
        (SystemExit(3), Event.FAIL),
        (KeyboardInterrupt(), Event.FAIL),
        (asyncio.CancelledError(), Event.FAIL),
    ],
)
def test_what_a_handler_raises_ends_its_attempt_and_not_the_worker(error: BaseException, event: Event) -> None:
    async def awaited() -> None:
        raise error

    def threaded() -> None:
        raise error

    for function in (awaited, threaded):
        report = report_of(function)
        assert report.event is event
        if event is Event.FAIL:
            assert report.error is not None
            assert report.error.type == type(error).__name__


def test_a_handler_that_exits_leaves_the_others_running() -> None:
    async def leave() -> None:
        sys.exit(1)

    async def stay() -> str:
        return "here"

    source = FakeSource(job("leave"), *(job("stay") for _ in range(20)))
    done = asyncio.run(work_loop(source, leave, stay).drain())
    assert (done.completed, done.failed) == (20, 1)


def test_a_result_is_kept_as_json() -> None:
    async def count() -> dict[str, int]:
        return {"rows": 3}

    assert report_of(count).result == '{"rows":3}'


def test_an_unknown_kind_is_put_off_and_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    source = FakeSource(job("new"), job("new"))
    done = asyncio.run(work_loop(source).drain())
    assert done.snoozed == 2
    assert [report for _, report in source.reports] == [Report(Event.SNOOZE, delay=60, excused=True)] * 2
    assert [r.message for r in caplog.records if "new" in r.message and r.levelno == logging.WARNING] != []
    assert len(caplog.records) == 1


def test_a_lost_job_is_not_even_looked_at() -> None:
    attempt = Attempt(job("new"), 0.0)
    assert attempt.ask("lost")
    assert asyncio.run(work_loop(FakeSource())._runner.run(attempt)) is None


def test_args_that_do_not_fit_fail_the_attempt() -> None:
    def decode(args: Mapping[str, Any], follow_up: bool) -> dict[str, Any]:
        raise InvalidArgs("mail", "to", "is missing")

    async def mail(to: str) -> None:
        raise AssertionError("ran")

    source = FakeSource(job("mail"), job("mail"))
    handlers = {"mail": Handler("mail", mail, True, False, decode)}
    done = asyncio.run(WorkLoop(source, handlers, WorkerSettings(), worker=WORKER).drain())
    assert done.failed == 2
    (_, report), _ = source.reports
    assert report.error is not None
    assert (report.error.event, report.error.message) == ("undecodable", "mail.to: is missing")


def test_decode_is_told_of_a_follow_up() -> None:
    told: list[bool] = []

    def decode(args: Mapping[str, Any], follow_up: bool) -> dict[str, Any]:
        told.append(follow_up)
        return {}

    async def land() -> None: ...

    source = FakeSource(job("land", follow_up=True))
    handlers = {"land": Handler("land", land, True, False, decode)}
    asyncio.run(WorkLoop(source, handlers, WorkerSettings(), worker=WORKER).drain())
    assert told == [True]


def test_start_comes_before_the_handler_and_only_where_it_is_needed() -> None:
    source = FakeSource()

    async def careful(ctx: Context) -> list[int]:
        return [lease.job_id for lease in source.started]

    needs, other = job("careful", needs_start=True), job("careful")
    source.add(needs, other)
    asyncio.run(work_loop(source, careful).drain())
    assert source.started == [needs.lease]
    assert {one.id: report.result for one, report in source.reports}[needs.id] == f"[{needs.id}]"


@pytest.mark.parametrize("sync", [False, True])
@pytest.mark.parametrize("lost", [False, True])
def test_a_refused_start_begins_nothing_and_reports_nothing(sync: bool, lost: bool) -> None:
    ran: list[int] = []

    async def awaited() -> None:
        ran.append(1)

    def threaded() -> None:
        ran.append(1)

    function = threaded if sync else awaited
    needs = job(function.__name__, needs_start=True)
    source = FakeSource(needs)
    source.errors["start"] = [LeaseLost(needs.lease, JobState.RUNNING, "taken") if lost else OSError("gone")]
    done = asyncio.run(work_loop(source, function).drain())
    assert (ran, source.reports, done.completed) == ([], [], 0)


def test_the_context_says_which_attempt_it_is() -> None:
    def look(ctx: Context, word: str) -> list[Any]:
        facts = [ctx.job_id, ctx.kind, ctx.queue, ctx.attempt, ctx.token, dict(ctx.headers)]
        assert ctx.lease_expires_at == THEN
        assert ctx.cancel_requested is None
        return [*facts, word]

    one = job("look", args={"word": "hi"}, headers={"trace": "1"})
    source = FakeSource(one)
    asyncio.run(work_loop(source, look).drain())
    assert source.reports[0][1].result == f'[{one.id},"look","default",1,1,{{"trace":"1"}},"hi"]'


def test_progress_and_extend_reach_the_source() -> None:
    source = FakeSource()

    def slow(ctx: Context) -> None:
        ctx.progress(0.5, "half", {"rows": 7})
        ctx.extend(1000)
        assert told.wait(5)

    told = threading.Event()
    answer = source.answer

    def note(asked: Any) -> Any:
        if asked.progress:
            told.set()
        return answer(asked)

    source.answer = note
    source.add(job("slow"))
    asyncio.run(work_loop(source, slow).drain())
    (extension,) = source.extensions
    assert extension.progress == '{"fraction":0.5,"stage":"half","detail":{"rows":7}}'
    assert 999 < extension.seconds <= 1000


def test_the_context_refuses_what_cannot_be_kept() -> None:
    async def wrong(ctx: Context) -> None:
        with pytest.raises(ValueError):
            ctx.progress(detail="\0")
        with pytest.raises(ValueError):
            ctx.progress(float("nan"))
        with pytest.raises(InvalidOption):
            ctx.extend(0)

    assert report_of(wrong).event is Event.COMPLETE


def test_context_variables_reach_a_thread_and_never_the_next_attempt() -> None:
    seen: list[str] = []
    var = contextvars.ContextVar("var", default="nothing")

    def threaded() -> None:
        seen.append(var.get())
        var.set("mine")

    source = FakeSource(*(job("threaded") for _ in range(3)))

    async def outer() -> None:
        var.set("outer")
        await work_loop(source, threaded, queues={"default": 1}).drain()

    asyncio.run(outer())
    assert seen == ["outer"] * 3


def test_with_few_threads_a_job_is_started_only_when_it_has_one() -> None:
    running: list[int] = []
    ended: list[int] = []
    most: list[int] = []
    started: list[int] = []

    def threaded() -> None:
        running.append(1)
        most.append(len(running))
        started.append(len(source.started) - len(ended))
        ended.append(running.pop())

    source = FakeSource(*(job("threaded", needs_start=True) for _ in range(20)))
    done = asyncio.run(work_loop(source, threaded, threads=2).drain())
    assert done.completed == 20
    assert max(most) <= 2
    assert max(started) <= 2  # with 4 slots: the other two wait for a thread before they start


def test_a_handler_in_a_thread_does_not_block_the_loop() -> None:
    let_go = threading.Event()

    def threaded() -> None:
        assert let_go.wait(5)

    async def awaited() -> None:
        let_go.set()

    async def both() -> None:
        source = FakeSource(job("threaded"), job("awaited"))
        done = await work_loop(source, threaded, awaited).drain()
        assert done.completed == 2

    go(both)


def test_a_start_that_was_never_sent_gives_the_job_back() -> None:
    async def never() -> None:
        raise AssertionError("it must not begin")

    source = FakeSource(job("never", needs_start=True))
    source.errors["start"] = [NothingSent("no connection")]
    asyncio.run(work_loop(source, never).drain(limit=1))
    ((_, report),) = source.reports
    assert (report.event, report.excused) == (Event.RELEASE, True)


class Hostile:
    """What a handler may return: its own code exits the interpreter."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise SystemExit(3)


class HostileError(Exception):
    def __str__(self) -> str:
        class Text(str):
            def __iter__(self) -> Any:
                raise SystemExit(3)

        return Text("no")


@pytest.mark.parametrize("is_async", [True, False])
def test_code_of_what_a_handler_returns_or_raises_ends_its_attempt_alone(is_async: bool) -> None:
    def hostile_result() -> Any:
        return Hostile()

    def hostile_error() -> None:
        raise HostileError

    async def hostile_result_awaited() -> Any:
        return Hostile()

    async def hostile_error_awaited() -> None:
        raise HostileError

    async def good() -> None: ...

    hostile = (hostile_result_awaited, hostile_error_awaited) if is_async else (hostile_result, hostile_error)
    source = FakeSource(*(job(function.__name__) for function in hostile for _ in range(4)), *(job("good"),) * 1)
    done = asyncio.run(work_loop(source, *hostile, good).drain())
    assert (done.failed, done.completed) == (8, 1)


def test_args_whose_own_code_exits_are_undecodable_and_cost_no_slot() -> None:
    def exiting(args: Mapping[str, Any], follow_up: bool) -> dict[str, Any]:
        raise SystemExit(3)

    source = FakeSource(*(job("noop") for _ in range(8)))
    handlers = {"noop": Handler("noop", lambda: None, False, False, exiting)}
    loop = WorkLoop(source, handlers, WorkerSettings({"default": 4}, poll=0.01), worker=WORKER)
    assert asyncio.run(loop.drain()).failed == 8
    assert {report.error and report.error.event for _, report in source.reports} == {"undecodable"}


def test_a_transaction_after_the_attempt_is_refused() -> None:
    kept: list[Context] = []

    async def keep(ctx: Context) -> None:
        kept.append(ctx)

    asyncio.run(work_loop(FakeSource(job("keep")), keep).drain())
    with pytest.raises(RuntimeError, match="the attempt is over"):
        kept[0].transaction()


def test_a_failure_needs_an_error() -> None:
    with pytest.raises(InvalidOption, match="text or an exception"):
        Fail(None)  # type: ignore[arg-type]
