"""Which engines and sessionmakers `ctx.transaction(source)` takes, and how it treats them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.pq import TransactionStatus
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from howdah import Client, Context, Job, JobState, Worker, job
from howdah.client.kind import AnyKind
from howdah.model.outcome import Event, Report
from howdah.store.async_connections import AsyncConnections
from howdah.store.attempt_transaction import PsycopgTransaction
from howdah.store.connections import Connections
from howdah.store.dsn import sqlalchemy_url
from howdah.store.sqlalchemy_transaction import transaction_on
from tests.app.transaction_doors import NAMES, TABLES, Door, Order, ShopSession, add, both, door, insert
from tests.support.held import background

CUT = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'shop' AND state = 'idle'"


@pytest.fixture(autouse=True)
def tables(dsn: str, conn: psycopg.Connection[Any]) -> None:
    conn.execute("DROP TABLE IF EXISTS public.later, public.orders")
    conn.execute(TABLES)


@pytest.fixture
def engine(dsn: str) -> Iterator[sa.Engine]:
    made = sa.create_engine(sqlalchemy_url(dsn), pool_size=1, max_overflow=0, connect_args={"application_name": "shop"})
    yield made
    made.dispose()


def orders(conn: psycopg.Connection[Any]) -> list[int]:
    return [n for (n,) in conn.execute("SELECT n FROM public.orders ORDER BY n").fetchall()]


def drain(dsn: str, kind: AnyKind, times: int = 1) -> list[Job]:
    with Client(dsn) as client:
        made = [kind.enqueue(client) for _ in range(times)]
        Worker(dsn, [kind]).drain()
        return [client.get(one.id) for one in made]


def refusal(dsn: str, source: Any, *, is_async: bool = False) -> tuple[str, str]:
    """How the attempt of a handler that asks for this source fails: the error's type and message."""
    (failed,) = drain(
        dsn, Door("", create_async_engine("postgresql+psycopg://") if is_async else None, source).kind(add(1))
    )
    return failed.errors[-1].type, failed.errors[-1].message


def test_the_wrong_twin_is_refused_with_the_right_one(dsn: str, engine: sa.Engine) -> None:
    awaited = create_async_engine(sqlalchemy_url(dsn))
    for source in (
        awaited,
        async_sessionmaker(awaited),
        sessionmaker(awaited, class_=AsyncSession),
        awaited.sync_engine,
    ):
        assert refusal(dsn, source) == (
            "RuntimeError",
            "this handler is not async: give ctx.transaction() an Engine, or a sessionmaker of one; not a source of "
            + ("Engine" if source is awaited.sync_engine else "AsyncEngine"),
        )
    for blocking in (engine, sessionmaker(engine)):
        name, message = refusal(dsn, blocking, is_async=True)
        assert name == "RuntimeError"
        assert "this handler is async: give ctx.transaction() an AsyncEngine, or an async_sessionmaker" in message


def test_what_is_no_source_is_refused_with_those_that_are(dsn: str, engine: sa.Engine) -> None:
    for source in (object(), "postgresql://", Session(engine), scoped_session(sessionmaker(engine))):
        name, message = refusal(dsn, source)
        assert name == "TypeError"
        assert "is no source of transactions: give a sessionmaker bound to an Engine, or an Engine" in message
    with engine.connect() as connection:
        assert "no source" in refusal(dsn, connection)[1]
        assert "bound to one connection" in refusal(dsn, sessionmaker(connection))[1]
    assert "bound to no engine" in refusal(dsn, sessionmaker())[1]


def test_an_engine_with_another_driver_is_refused(dsn: str) -> None:
    sqlite = sa.create_engine("sqlite://")
    for source in (sqlite, sessionmaker(sqlite)):
        name, message = refusal(dsn, source)
        assert name == "TypeError"
        assert "speaks pysqlite: Howdah needs psycopg" in message


@pytest.mark.parametrize("with_schema", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_an_engine_of_another_database_is_refused(
    name: str, with_schema: bool, dsn: str, cloned_dsn: str, fresh_dsn: str, conn: psycopg.Connection[Any]
) -> None:
    other = cloned_dsn if with_schema else fresh_dsn
    elsewhere = door(name, other)
    (failed,) = drain(dsn, elsewhere.kind(insert(1)))
    assert failed.errors[-1].type == "InvalidOption"
    assert f"of {psycopg.conninfo.conninfo_to_dict(other)['dbname']}" in failed.errors[-1].message
    assert "leads to another database than this worker's" in failed.errors[-1].message
    elsewhere.sync_engine.dispose(close=not elsewhere.is_async)
    assert failed.state is JobState.SCHEDULED


def test_the_options_of_a_sessionmaker_are_kept(dsn: str, engine: sa.Engine) -> None:
    seen: list[Any] = []
    made = sessionmaker(engine, class_=ShopSession, expire_on_commit=False, autoflush=False, info={"tenant": 1})

    def body(_: Context, session: Any) -> None:
        session.order(1)
        seen.extend((type(session).__mro__[1], session.expire_on_commit, session.autoflush, session.info))

    assert drain(dsn, Door("", engine, made).kind(body))[0].state is JobState.COMPLETED
    assert seen == [ShopSession, False, False, {"tenant": 1}]


@pytest.mark.parametrize("option", [{"autobegin": False}, {"twophase": True}])
def test_options_that_would_lead_past_the_transaction_are_set_right(
    option: dict[str, bool], dsn: str, engine: sa.Engine, conn: psycopg.Connection[Any]
) -> None:
    assert drain(dsn, Door("", engine, sessionmaker(engine, **option)).kind(add(1)))[0].state is JobState.COMPLETED
    assert orders(conn) == [1]


def test_binds_of_one_engine_are_one_transaction(dsn: str, engine: sa.Engine, conn: psycopg.Connection[Any]) -> None:
    binds = {Order: engine, "public.later": engine.execution_options(logging_token="x")}
    made = sessionmaker(binds={Order: binds[Order], Order.__table__: binds["public.later"]})
    assert drain(dsn, Door("", engine, made).kind(add(1)))[0].state is JobState.COMPLETED
    assert orders(conn) == [1]


def test_a_bind_of_another_engine_is_refused_when_it_is_used(
    dsn: str, engine: sa.Engine, conn: psycopg.Connection[Any]
) -> None:
    other = sa.create_engine(sqlalchemy_url(dsn), poolclass=sa.NullPool)
    made = sessionmaker(engine, binds={Order: other})
    assert drain(dsn, Door("", engine, made).kind(insert(1)))[0].state is JobState.COMPLETED
    (failed,) = drain(dsn, Door("", engine, made).kind(add(2)))
    assert (failed.state, failed.errors[-1].type) == (JobState.SCHEDULED, "RuntimeError")
    assert "went to another bind" in failed.errors[-1].message
    assert orders(conn) == [1]


@pytest.mark.parametrize("level", ["AUTOCOMMIT", "SERIALIZABLE"])
@pytest.mark.parametrize("name", NAMES)
def test_the_engines_own_level_does_not_matter(name: str, level: str, dsn: str, conn: psycopg.Connection[Any]) -> None:
    through = door(name, dsn, engine={"isolation_level": level})

    def body(_: Context, inside: Any) -> None:
        assert inside.scalar(sa.text("SHOW transaction_isolation")) == "read committed"
        raise KeyError("x")

    (failed,) = drain(dsn, through.kind(both(insert(1), body)))
    assert (failed.errors[-1].type, orders(conn)) == ("KeyError", [])
    through.sync_engine.dispose(close=not through.is_async)


def test_a_transaction_that_is_committed_past_its_connection_fails(
    dsn: str, engine: sa.Engine, conn: psycopg.Connection[Any]
) -> None:
    body = both(insert(1), lambda _, inside: inside.get_transaction().commit())
    (failed,) = drain(dsn, Door("", engine, engine).kind(body))
    assert "is committed when the handler returns, not inside" in failed.errors[-1].message
    assert orders(conn) == []
    with engine.connect() as again:
        status = again.connection.driver_connection.info.transaction_status  # type: ignore[union-attr]
    assert status == TransactionStatus.IDLE


def test_the_handlers_own_execution_options_do_not_reach_the_report(dsn: str, engine: sa.Engine) -> None:
    def body(_: Context, inside: Any) -> None:
        inside.execution_options(stream_results=True)  # a server-side cursor takes no INSERT

    assert drain(dsn, Door("", engine, engine).kind(body))[0].state is JobState.COMPLETED


def test_a_pool_that_is_exhausted_is_waited_for(dsn: str, engine: sa.Engine, conn: psycopg.Connection[Any]) -> None:
    kind = Door("", engine, sessionmaker(engine)).kind(lambda ctx, session: add(ctx.job_id)(ctx, session))
    assert {done.state for done in drain(dsn, kind, times=10)} == {JobState.COMPLETED}
    assert len(orders(conn)) == 10
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


def test_a_connection_that_died_in_the_pool_costs_no_attempt(
    dsn: str, engine: sa.Engine, conn: psycopg.Connection[Any]
) -> None:
    kind = Door("", engine, engine).kind(lambda ctx, inside: insert(ctx.job_id)(ctx, inside))
    drain(dsn, kind)
    assert conn.execute(CUT).fetchone() == (1,)
    assert drain(dsn, kind)[0].attempt == 1
    assert len(orders(conn)) == 2


def test_an_async_pool_is_used_again_and_again(dsn: str, conn: psycopg.Connection[Any]) -> None:
    awaited = create_async_engine(sqlalchemy_url(dsn), pool_size=1, max_overflow=0)
    made = async_sessionmaker(awaited)

    @job
    async def work(ctx: Context) -> None:
        async with ctx.transaction(made) as session:
            session.add(Order(n=ctx.job_id))

    async def main() -> None:
        with Client(dsn) as client:
            for _ in range(10):
                work.enqueue(client)
        await Worker(dsn, [work]).drain_async()
        assert awaited.pool.checkedout() == 0  # type: ignore[attr-defined]
        await awaited.dispose()

    asyncio.run(main())
    assert len(orders(conn)) == 10


@pytest.mark.parametrize("of", ["psycopg", "session", "connection"])
def test_it_may_be_settled_in_another_thread_than_it_was_opened_in(
    of: str, dsn: str, engine: sa.Engine, conn: psycopg.Connection[Any]
) -> None:
    conn.execute("INSERT INTO howdah.workers (worker, hostname, pid, version, queues) VALUES ('w', '', 1, '', '{}')")
    own = Connections(dsn)
    with Client(dsn) as client:
        client.enqueue("work", {})
        (claimed,) = client.claim(worker="w")
        if of == "psycopg":
            transaction: Any = PsycopgTransaction(own, AsyncConnections(dsn))
        else:
            source = engine if of == "connection" else sessionmaker(engine)
            transaction = transaction_on(source, is_async=False, worker="w")
        inside = background(transaction.open).result()
        statement = "INSERT INTO public.orders VALUES (1)"
        background(lambda: inside.execute(statement if of == "psycopg" else sa.text(statement))).result()
        settled = background(lambda: transaction.settle(claimed, Report(Event.COMPLETE))).result()
    own.close()
    assert (settled, orders(conn)) == (JobState.COMPLETED, [1])
