"""`ctx.transaction(source)` with SQLAlchemy: the handler's writes are committed with its report, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql
from psycopg.pq import TransactionStatus

from howdah import Cancel, Client, Context, Job, JobState, Snooze, Worker
from howdah.client.kind import AnyKind
from tests.app.transaction_doors import NAMES, TABLES, Door, add, both, door, insert

Drain = Callable[..., Job]
Orders = Callable[[], list[int]]
SESSIONS = ("sessionmaker", "async_sessionmaker")


@pytest.fixture(params=NAMES)
def through(request: pytest.FixtureRequest, dsn: str, conn: psycopg.Connection[Any]) -> Iterator[Door]:
    """Each source; the level of its engine's role is a stricter one."""
    conn.execute("DROP TABLE IF EXISTS public.later, public.orders")
    conn.execute(TABLES)
    database = sql.Identifier(conn.info.dbname)
    conn.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_isolation = 'serializable'").format(database))
    opened = door(request.param, dsn)
    yield opened
    opened.sync_engine.dispose(close=not opened.is_async)
    conn.execute(sql.SQL("ALTER DATABASE {} RESET default_transaction_isolation").format(database))


@pytest.fixture
def drain(dsn: str) -> Drain:
    """Enqueue one job of a kind, run a worker until nothing is available, and give the job as it is then."""

    def run(kind: AnyKind, **options: Any) -> Job:
        with Client(dsn) as client:
            made = kind.options(**options).enqueue(client)
            Worker(dsn, [kind]).drain()
            return client.get(made.id)

    return run


@pytest.fixture
def orders(conn: psycopg.Connection[Any]) -> Callable[[], list[int]]:
    return lambda: [n for (n,) in conn.execute("SELECT n FROM public.orders ORDER BY n").fetchall()]


def nothing(*_: Any) -> None: ...


def test_a_value_is_committed_with_the_writes(through: Door, drain: Drain, orders: Orders) -> None:
    done = drain(through.kind(insert(1), lambda *_: {"n": 1}))
    assert (done.state, done.result, orders()) == (JobState.COMPLETED, {"n": 1}, [1])


def test_an_outcome_is_committed_with_the_writes(through: Door, drain: Drain, orders: Orders) -> None:
    assert drain(through.kind(insert(1), lambda *_: Snooze(60))).state is JobState.SCHEDULED
    assert orders() == [1]


def test_nothing_is_committed_before_the_handler_returns(through: Door, drain: Drain, orders: Orders) -> None:
    seen: list[list[int]] = []
    drain(through.kind(insert(1), lambda *_: seen.append(orders())))
    assert (seen, orders()) == ([[]], [1])


def test_what_was_written_can_be_read_until_the_handler_returns(through: Door, drain: Drain) -> None:
    done = drain(through.kind(insert(1), lambda _, inside: inside.scalar(sa.text("SELECT n FROM public.orders"))))
    assert done.result == 1


@pytest.mark.parametrize("error", [KeyError("x"), Cancel("no need"), SystemExit(1)], ids=lambda error: str(type(error)))
def test_what_is_raised_inside_rolls_back(through: Door, drain: Drain, orders: Orders, error: BaseException) -> None:
    def raises(*_: Any) -> None:
        raise error

    done = drain(through.kind(both(insert(1), raises)))
    assert done.state is (JobState.CANCELLED if isinstance(error, Cancel) else JobState.SCHEDULED)
    assert orders() == []


def test_what_is_raised_after_the_block_rolls_back(through: Door, drain: Drain, orders: Orders) -> None:
    def raises(*_: Any) -> None:
        raise KeyError("x")

    done = drain(through.kind(insert(1), raises))
    assert (done.state, done.errors[-1].type, orders()) == (JobState.SCHEDULED, "KeyError", [])


def test_commit_inside_commits_nothing(through: Door, drain: Drain, orders: Orders) -> None:
    seen: list[list[int]] = []

    def body(ctx: Context, inside: Any) -> None:
        for n in (1, 2):
            insert(n)(ctx, inside)
            inside.commit()
            seen.append(orders())

    assert drain(through.kind(body)).state is JobState.COMPLETED
    assert (seen, orders()) == ([[], []], [1, 2])


def test_rollback_inside_fails_the_attempt(through: Door, drain: Drain, orders: Orders) -> None:
    done = drain(through.kind(both(insert(1), lambda _, inside: inside.rollback())))
    assert (done.state, orders()) == (JobState.SCHEDULED, [])
    assert done.errors[-1].message == "the transaction of ctx.transaction() was ended inside of it"


def test_after_a_rollback_nothing_more_can_be_written(through: Door, drain: Drain, orders: Orders) -> None:
    body = both(insert(1), lambda _, inside: inside.rollback(), insert(2), lambda _, inside: inside.commit())
    done = drain(through.kind(body))
    assert (done.state, orders()) == (JobState.SCHEDULED, [])
    assert "was rolled back" in done.errors[-1].message


def test_a_savepoint_can_be_rolled_back(through: Door, drain: Drain, orders: Orders) -> None:
    def body(ctx: Context, inside: Any) -> None:
        insert(1)(ctx, inside)
        with pytest.raises(sa.exc.IntegrityError), inside.begin_nested():
            insert(1)(ctx, inside)
        with inside.begin_nested():
            insert(2)(ctx, inside)

    assert drain(through.kind(body)).state is JobState.COMPLETED
    assert orders() == [1, 2]


def test_a_failed_statement_that_nobody_minded_fails_the_attempt(through: Door, drain: Drain, orders: Orders) -> None:
    def body(ctx: Context, inside: Any) -> None:
        insert(1)(ctx, inside)
        with pytest.raises(sa.exc.IntegrityError):
            insert(1)(ctx, inside)

    done = drain(through.kind(body))
    assert (done.state, orders()) == (JobState.SCHEDULED, [])
    assert "a statement in ctx.transaction() failed" in done.errors[-1].message


def test_a_deferred_constraint_fails_the_attempt_at_the_commit(through: Door, drain: Drain, orders: Orders) -> None:
    done = drain(through.kind(both(insert(1), insert(2, "later"))))
    assert (done.state, done.errors[-1].type, orders()) == (JobState.SCHEDULED, "IntegrityError", [])
    assert "later_n_fkey" in done.errors[-1].message


def test_a_second_transaction_is_refused(through: Door, drain: Drain, orders: Orders) -> None:
    def body(ctx: Context, _: Any) -> None:
        with pytest.raises(RuntimeError, match="one transaction"):
            ctx.transaction(through.source)

    assert drain(through.kind(both(insert(1), body))).state is JobState.COMPLETED
    assert orders() == [1]


def test_it_is_read_committed_whatever_the_default_is(through: Door, drain: Drain, conn: Any, orders: Orders) -> None:
    def body(_: Context, inside: Any) -> list[Any]:
        level = inside.scalar(sa.text("SHOW transaction_isolation"))
        before = inside.scalar(sa.text("SELECT count(*) FROM public.orders"))
        conn.execute("INSERT INTO public.orders VALUES (7)")
        return [level, before, inside.scalar(sa.text("SELECT count(*) FROM public.orders"))]

    assert drain(through.kind(nothing, body)).result == ["read committed", 0, 1]


def test_follow_up_jobs_are_committed_with_it(through: Door, drain: Drain, conn: psycopg.Connection[Any]) -> None:
    follow_up = through.kind(nothing, kind="follow_up")

    def enqueue(_: Context, inside: Any) -> None:
        follow_up.enqueue(inside)
        follow_up.options(key="k").enqueue(inside)

    def raises(*_: Any) -> None:
        raise KeyError("x")

    count = "SELECT count(*) FROM howdah.jobs WHERE kind = 'follow_up'"
    drain(through.kind(enqueue, raises))
    assert conn.execute(count).fetchone() == (0,)
    drain(through.kind(enqueue, kind="other"))
    assert conn.execute(count).fetchone() == (2,)


def test_a_lease_lost_before_the_return_rolls_back(through: Door, drain: Drain, conn: Any, orders: Orders) -> None:
    def steal(*_: Any) -> None:
        conn.execute("UPDATE howdah.jobs SET attempt = attempt + 1, worker = 'thief'")

    done = drain(through.kind(insert(1), steal))
    assert (done.state, done.worker, done.attempt, orders()) == (JobState.RUNNING, "thief", 2, [])


@pytest.mark.parametrize("policy", ["cancel", "finish"])
def test_a_superseded_job_rolls_back_unless_its_kind_finishes(
    through: Door, drain: Drain, orders: Orders, policy: Any, dsn: str
) -> None:
    began: list[int] = []

    def body(ctx: Context, inside: Any) -> None:
        began.append(ctx.job_id)
        insert(len(began))(ctx, inside)
        if len(began) == 1:
            with Client(dsn) as client:
                kind.options(subject="s").enqueue(client)

    kind = through.kind(body, on_supersede=policy)
    done = drain(kind, subject="s")
    assert done.state is (JobState.SUPERSEDED if policy == "cancel" else JobState.COMPLETED)
    assert orders() == ([2] if policy == "cancel" else [1, 2])


def test_a_cancelled_job_rolls_back(through: Door, drain: Drain, orders: Orders, dsn: str) -> None:
    def body(ctx: Context, inside: Any) -> None:
        with Client(dsn) as client:
            client.cancel(ctx.job_id)
        if through.is_async:
            inside.execute(sa.text("SELECT pg_sleep(60)"))  # CancelledError comes in the middle of a statement
        end = time.monotonic() + 10
        while ctx.cancel_requested is None:
            assert time.monotonic() < end
        raise KeyError("it gives up")

    done = drain(through.kind(both(insert(1), body)))
    assert (done.state, orders()) == (JobState.CANCELLED, [])


def test_its_connection_is_given_back_as_it_came(through: Door, drain: Drain, orders: Orders) -> None:
    seen: list[Any] = []

    @sa.event.listens_for(through.sync_engine, "checkin")
    def look(_: Any, record: Any) -> None:
        raw = record.driver_connection
        seen.append((raw.isolation_level, raw.autocommit, raw.info.transaction_status))

    drain(through.kind(insert(1)))
    assert seen == [(psycopg.IsolationLevel.SERIALIZABLE, False, TransactionStatus.IDLE)]
    assert orders() == [1]


@pytest.mark.parametrize("through", SESSIONS, indirect=True)
@pytest.mark.parametrize("where", ["in the block", "after it"])
def test_a_flush_that_fails_fails_the_attempt_with_its_error(
    through: Door, where: str, drain: Drain, orders: Orders
) -> None:
    reached: list[str] = []
    broken = both(add(1), lambda _, inside: inside.flush(), lambda _, inside: inside.expunge_all(), add(1))

    def after(ctx: Context, inside: Any) -> None:
        reached.append("after the block")
        if where == "after it":
            broken(ctx, inside)

    done = drain(through.kind(broken if where == "in the block" else nothing, after))
    assert (done.state, done.errors[-1].type, orders()) == (JobState.SCHEDULED, "IntegrityError", [])
    assert reached == ([] if where == "in the block" else ["after the block"])


@pytest.mark.parametrize("through", SESSIONS, indirect=True)
def test_a_flush_that_failed_and_was_swallowed_fails_the_attempt(through: Door, drain: Drain, orders: Orders) -> None:
    def body(ctx: Context, inside: Any) -> None:
        insert(1)(ctx, inside)
        add(1)(ctx, inside)
        with pytest.raises(sa.exc.IntegrityError):
            inside.flush()
        inside.rollback()  # what SQLAlchemy asks for

    done = drain(through.kind(body))
    assert (done.state, orders()) == (JobState.SCHEDULED, [])


@pytest.mark.parametrize("through", SESSIONS, indirect=True)
def test_what_is_added_to_a_session_after_the_block_is_written_too(through: Door, drain: Drain, orders: Orders) -> None:
    assert drain(through.kind(add(1), add(2))).state is JobState.COMPLETED
    assert orders() == [1, 2]
