"""Howdah's own connections, out of a DSN or of a pool or engine of the user's; each operation gets one for itself."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import psycopg
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_loads
from psycopg_pool import ConnectionPool

from howdah.migrations.steps import SCHEMA_VERSION
from howdah.model.errors import SchemaMismatch
from howdah.store import dsn
from howdah.store.drivers import Execute, making_days, on_psycopg, run, run_procedure
from howdah.store.operation import Operation, Procedure, Query, Rows, Selection
from howdah.store.trouble import own_errors

if TYPE_CHECKING:
    from sqlalchemy import Engine

T = TypeVar("T")
Source: TypeAlias = "str | ConnectionPool[Any] | Engine | None"

POOL_SIZE = 10
WAIT = 10.0
RECONNECT = 2.0  # seconds after which the pool starts its own backoff anew, which would grow to minutes
READ_COMMITTED = psycopg.IsolationLevel.READ_COMMITTED


class OwnConnection(psycopg.Connection[TupleRow]):
    """A connection of our own pool. `names_level`: the role's default is another level than READ COMMITTED."""

    names_level: bool = False


class Connections:
    """Runs operations, each on a connection of its own. Opens at the first use; safe to share between threads."""

    def __init__(self, source: Source, *, size: int = POOL_SIZE) -> None:
        self._conninfo = dsn.resolve(source) if source is None or isinstance(source, str) else None
        self._pool: ConnectionPool[Any] | None = source if isinstance(source, ConnectionPool) else None
        self._engine: Engine | None = cast("Engine", source) if is_sqlalchemy(source, "engine.base.Engine") else None
        if self._conninfo is None and self._pool is None and self._engine is None:
            raise TypeError(
                f"{type(source).__name__} is no source of connections here: give a DSN, a "
                "psycopg_pool.ConnectionPool or a SQLAlchemy Engine; AsyncClient takes their async twins"
            )
        if self._engine is not None:
            speaking_psycopg(self._engine)
        self._size = size
        self._lock = threading.Lock()
        self._checked = False

    def run(self, operation: Operation[T]) -> T:
        """Run an operation whose every statement may be committed by itself."""
        with own_errors(), self.borrow() as connection:
            execute = on_psycopg(connection)
            if getattr(connection, "names_level", True):
                execute = _naming_the_level(connection)
            return run(making_days(execute), operation)

    def transact(self, operation: Operation[T]) -> T:
        """Run an operation in one transaction at READ COMMITTED."""
        with own_errors(), self.borrow() as connection, read_committed(connection):
            return run(on_psycopg(connection), operation)

    def run_procedure(self, procedure: Procedure[T]) -> T:
        """Run a procedure, each of its operations in a transaction."""
        return run_procedure(self.transact, procedure)

    def use(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Do something on a connection of a database whose schema is not looked at first."""
        with own_errors(), self.borrow(check=False) as connection:
            return work(connection)

    @contextmanager
    def borrow(self, *, check: bool = True) -> Iterator[psycopg.Connection[Any]]:
        """A connection outside of a transaction. Raises SchemaMismatch, once it has looked."""
        if self._engine is not None:
            with self._engine.connect() as borrowed:
                raw = borrowed.connection.driver_connection
                assert isinstance(raw, psycopg.Connection)
                self._check(raw, check)
                yield raw
        else:
            pool = self._pool if self._conninfo is None else self._own_pool(self._conninfo, check)
            assert pool is not None
            with pool.connection() as connection:
                try:
                    self._check(connection, check)
                    yield connection
                except psycopg.errors.ReadOnlySqlTransaction:
                    connection.close()  # a node that was demoted: another connection may find the primary
                    raise

    def close(self) -> None:
        """Close what we opened; a pool or engine of the user's stays open."""
        if self._conninfo is not None and self._pool is not None:
            self._pool.close()
            self._pool = None

    def _own_pool(self, conninfo: str, check: bool) -> ConnectionPool[Any]:
        with self._lock:
            if self._pool is None or (check and not self._checked):
                # One plain connection first: it says at once why it cannot be had, where a pool would wait and retry.
                with psycopg.connect(conninfo, autocommit=True) as probe:
                    self._check(probe, check)
            if self._pool is None:
                self._pool = ConnectionPool(
                    conninfo,
                    connection_class=OwnConnection,
                    kwargs={"autocommit": True},
                    configure=_configure,
                    min_size=0,
                    max_size=self._size,
                    timeout=WAIT,
                    reconnect_timeout=RECONNECT,
                    name="howdah",
                    open=True,
                )
            return self._pool

    def _check(self, connection: psycopg.Connection[Any], check: bool) -> None:
        if check and not self._checked:
            with read_committed(connection):
                run(on_psycopg(connection), check_schema())
            self._checked = True


def check_schema() -> Operation[None]:
    """Raise SchemaMismatch unless the schema is the one this release needs."""
    found = (yield Query("schema/version"))[0]["version"]
    if found != SCHEMA_VERSION:
        raise SchemaMismatch(found, SCHEMA_VERSION)


def names_level() -> Operation[bool]:
    """Whether a statement of its own would run at another level than READ COMMITTED."""
    found = yield Query("schema/isolation")
    return bool(found[0]["level"] != "read committed")


@contextmanager
def read_committed(connection: psycopg.Connection[Any]) -> Iterator[None]:
    """A transaction that names its level, and leaves the connection's own setting as it was."""
    level = connection.isolation_level
    if level is not READ_COMMITTED:
        connection.isolation_level = READ_COMMITTED
    try:
        with connection.transaction():
            yield
    finally:
        if level is not READ_COMMITTED and not connection.closed:
            connection.isolation_level = level


def _naming_the_level(connection: psycopg.Connection[Any]) -> Execute:
    once = on_psycopg(connection)

    def execute(query: Query | Selection) -> Rows:
        with read_committed(connection):
            return once(query)

    return execute


def readable(data: str | bytes) -> Any:
    """The value of a JSON text; of one that Python cannot read, a text that says so: it must not cost its batch."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        return f"(cannot be read: {error})"


def _configure(connection: OwnConnection) -> None:
    set_json_loads(readable, connection)
    connection.isolation_level = READ_COMMITTED
    connection.names_level = run(on_psycopg(connection), names_level())


def is_sqlalchemy(value: object, name: str) -> bool:
    """Whether a value is of this class of SQLAlchemy, without importing SQLAlchemy for those who do not use it."""
    return any(f"{cls.__module__}.{cls.__qualname__}" == f"sqlalchemy.{name}" for cls in type(value).__mro__)


def speaking_psycopg(thing: Any) -> Any:
    """An engine or connection of SQLAlchemy, if its driver is psycopg. Raises TypeError that says which it must be."""
    driver = thing.dialect.driver
    if driver not in ("psycopg", "psycopg_async"):
        raise TypeError(f"this engine speaks {driver}: Howdah needs psycopg, make it from postgresql+psycopg://…")
    return thing
