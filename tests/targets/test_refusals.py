"""What `on` and a client's source may not be: refused with a typed error that says what to do, and no password."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from howdah import AsyncClient, Client, InvalidOption, Lease, SchemaMismatch, Unreachable, job
from howdah.client.target import run_on, run_on_async
from howdah.store.dsn import sqlalchemy_url
from howdah.store.enqueueing import load
from tests.targets.every_target import done

SECRET = "hunter2-a://b"


@job(kind="a")
def a(n: int) -> None: ...


def _sqlite() -> sa.Engine:
    return sa.create_engine("sqlite://")


_OPEN = sqlite3.connect(":memory:")

STRANGERS: dict[str, Callable[[], object]] = {
    "str": lambda: "postgresql://localhost/shop",
    "None": lambda: None,
    "Connection of sqlite3": lambda: _OPEN,
    "Engine": _sqlite,
    "ConnectionPool": lambda: ConnectionPool("", open=False),
    "MockConnection": lambda: sa.create_mock_engine("postgresql://", lambda *_: None),
}


@pytest.mark.parametrize("stranger", STRANGERS.values(), ids=STRANGERS.keys())
def test_a_stranger_is_refused_with_the_list_of_what_is_taken(stranger: Callable[[], Any]) -> None:
    on = stranger()
    for enqueue in (lambda: a.enqueue(on, n=1), lambda: a.enqueue_many(on, [{"n": 1}])):
        with pytest.raises(TypeError, match=r"is not a target here.*psycopg\.Connection, or SQLAlchemy's Connection"):
            enqueue()


@pytest.mark.parametrize("make", [lambda e: e.connect(), Session], ids=["Connection", "Session"])
def test_a_connection_of_another_database_is_refused(make: Callable[[sa.Engine], Any]) -> None:
    engine = _sqlite()
    with make(engine) as on, pytest.raises(TypeError, match=r"speaks pysqlite: .* postgresql\+psycopg://"):
        a.enqueue(on, n=1)
    engine.dispose()


@pytest.mark.parametrize("driver", ["psycopg2", "pg8000"])
def test_a_connection_of_another_driver_is_refused(driver: str, dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = sa.create_engine(sqlalchemy_url(dsn))
    monkeypatch.setattr(engine.dialect, "driver", driver)
    with engine.connect() as on, pytest.raises(TypeError, match=f"speaks {driver}"):
        a.enqueue(on, n=1)
    engine.dispose()


def test_an_async_connection_of_another_driver_is_refused(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        engine = create_async_engine(sqlalchemy_url(dsn))
        monkeypatch.setattr(engine.sync_engine.dialect, "driver", "asyncpg")
        async with AsyncSession(engine) as on:
            with pytest.raises(TypeError, match=r"speaks asyncpg: .* postgresql\+psycopg://"):
                await a.enqueue(on, n=1)
        await engine.dispose()

    asyncio.run(test())


def _async_targets(dsn: str) -> list[Any]:
    engine = create_async_engine(sqlalchemy_url(dsn))
    return [AsyncClient(dsn), AsyncSession(engine), AsyncConnection(engine)]


def test_an_async_target_in_a_blocking_client_is_refused_and_names_the_way(dsn: str) -> None:
    with Client(dsn) as client:
        lease = Lease(1, 1, "w", sa.func.now())  # type: ignore[arg-type]
        for on in _async_targets(dsn):
            for call in (
                lambda on=on: client.enqueue("a", {}, on=on),
                lambda on=on: client.enqueue_many([a.new(n=1)], on=on),
                lambda on=on: client.load([a.new(n=1)], on=on),
                lambda on=on: client.complete(lease, on=on),
            ):
                with pytest.raises(TypeError, match="is not a target here; use AsyncClient"):
                    call()


def test_a_blocking_target_in_an_async_client_is_refused_and_names_the_way(dsn: str) -> None:
    async def test() -> None:
        engine = sa.create_engine(sqlalchemy_url(dsn))
        async with AsyncClient(dsn) as client:
            with (
                psycopg.connect(dsn) as raw,
                Session(engine) as session,
                engine.connect() as connection,
                Client(dsn) as c,
            ):
                for on in (raw, session, connection, c):
                    with pytest.raises(TypeError, match="is not a target here; use Client"):
                        await client.enqueue("a", {}, on=on)  # type: ignore[arg-type]
        engine.dispose()

    asyncio.run(test())


def test_a_refused_target_has_nothing_written_to_it(conn: psycopg.Connection) -> None:
    with pytest.raises(TypeError):
        asyncio.run(run_on_async(conn, load([a.new(n=1)])))
    with pytest.raises(TypeError):
        run_on(SimpleNamespace(execute=pytest.fail), load([a.new(n=1)]))
    assert conn.execute("SELECT count(*) FROM howdah.jobs").fetchone() == (0,)


@pytest.mark.parametrize("cls", [Client, AsyncClient])
def test_a_source_that_is_none_is_refused_with_the_list_of_what_is_taken(cls: Any, dsn: str) -> None:
    twin = AsyncConnectionPool("", open=False) if cls is Client else ConnectionPool("", open=False)
    for source in (42, twin, _sqlite().connect, object()):
        with pytest.raises(TypeError, match="give a DSN, a psycopg_pool"):
            cls(source)


def test_an_engine_of_another_driver_is_no_source() -> None:
    with pytest.raises(TypeError, match=r"speaks pysqlite: .* postgresql\+psycopg://"):
        Client(_sqlite())


@pytest.mark.parametrize(
    ("dsn", "problem"),
    [
        (f"postgresql+asyncpg://me:{SECRET}@host/db", r"speaks psycopg, not asyncpg: use postgresql\+psycopg://"),
        (f"postgresql+psycopg2://me:{SECRET}@host/db", "not psycopg2"),
        (f"mysql://me:{SECRET}@host/db", "is not PostgreSQL: use postgresql://"),
        (f"user=me password={SECRET} nonsense", "cannot be read"),
        (f"user=me password={SECRET} nonsense=1", "cannot be read"),
        (f"postgresql://me:{SECRET}@host/db?nonsense=1", "cannot be read"),
        ("", "HOWDAH_DSN"),
    ],
)
@pytest.mark.parametrize("cls", [Client, AsyncClient])
def test_a_dsn_that_cannot_be_is_refused_without_its_password(
    cls: Any, dsn: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOWDAH_DSN", raising=False)
    with pytest.raises(InvalidOption, match=problem) as error:
        cls(dsn)
    assert "hunter2" not in str(error.value)
    assert "hunter2" not in repr(error.value.value)


def test_a_password_may_hold_what_a_url_holds(dsn: str) -> None:
    with Client(f"{dsn} password={SECRET}") as client:
        assert client.enqueue("a", {}).created


@pytest.fixture
def closed_port() -> str:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return f"host=127.0.0.1 port={bound.getsockname()[1]} password={SECRET}"


@pytest.fixture(params=["unused socket folder", "closed port"])
def silent_dsn(request: pytest.FixtureRequest, tmp_path: Path, closed_port: str) -> str:
    return closed_port if request.param == "closed port" else f"host={tmp_path} password={SECRET}"


@pytest.mark.parametrize("source", [str, lambda dsn: sa.create_engine(sqlalchemy_url(dsn))], ids=["DSN", "Engine"])
def test_a_server_that_does_not_answer_is_unreachable_at_once(source: Callable[[str], Any], silent_dsn: str) -> None:
    began = time.monotonic()
    with Client(source(silent_dsn)) as client:
        for call in (client.migrate, client.sweep, lambda: client.enqueue("a", {}), lambda: client.get(1)):
            with pytest.raises(Unreachable) as error:
                call()
            assert "hunter2" not in str(error.value)
    assert time.monotonic() - began < 15


@pytest.mark.parametrize("source", [str, lambda dsn: create_async_engine(sqlalchemy_url(dsn))], ids=["DSN", "Engine"])
def test_an_async_client_says_the_same(source: Callable[[str], Any], silent_dsn: str) -> None:
    async def test() -> None:
        async with AsyncClient(source(silent_dsn)) as client:
            for call in (client.migrate, client.sweep, lambda: client.enqueue("a", {})):
                with pytest.raises(Unreachable) as error:
                    await done(call())
                assert "hunter2" not in str(error.value)

    began = time.monotonic()
    asyncio.run(test())
    assert time.monotonic() - began < 15


def test_a_pool_that_is_not_open_is_unreachable_and_says_so(dsn: str) -> None:
    with pytest.raises(Unreachable, match="not open"):
        Client(ConnectionPool(dsn, open=False)).enqueue("a", {})


def test_a_target_without_the_schema_is_a_mismatch(fresh_dsn: str) -> None:
    engine = sa.create_engine(sqlalchemy_url(fresh_dsn))
    with psycopg.connect(fresh_dsn) as raw, engine.connect() as connection, Session(engine) as session:
        for on in (raw, connection, session):
            with pytest.raises(SchemaMismatch, match="Run: howdah migrate"):
                a.enqueue(on, n=1)
            on.rollback()
            with pytest.raises(SchemaMismatch, match="Run: howdah migrate"):
                a.options(key="k").enqueue(on, n=1)
    engine.dispose()


def test_any_other_error_of_the_callers_connection_stays_as_the_driver_says_it(dsn: str) -> None:
    engine = sa.create_engine(sqlalchemy_url(dsn))
    with psycopg.connect(dsn) as raw, engine.connect() as connection:
        with pytest.raises(psycopg.errors.DivisionByZero):
            raw.execute("SELECT 1 / 0")
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            a.enqueue(raw, n=1)
        with pytest.raises(sa.exc.DataError):
            connection.execute(sa.text("SELECT 1 / 0"))
        with pytest.raises(sa.exc.InternalError):
            a.enqueue(connection, n=1)
    engine.dispose()
