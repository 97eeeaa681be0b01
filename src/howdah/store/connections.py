"""Howdah's own connections, out of a DSN or of a pool or engine of the user's; each operation gets one for itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import psycopg
from psycopg_pool import ConnectionPool

from howdah.migrations.steps import SCHEMA_VERSION, suits
from howdah.model.errors import SchemaMismatch
from howdah.store import dsn
from howdah.store.contact import Contact
from howdah.store.drivers import Execute, making_days, on_psycopg, run, run_procedure
from howdah.store.operation import Operation, Procedure, Query, Rows, Selection
from howdah.store.own_connection import READ_COMMITTED, connect
from howdah.store.pool import Pool
from howdah.store.trouble import is_read_only, own_errors

if TYPE_CHECKING:
    from sqlalchemy import Engine

T = TypeVar("T")
Source: TypeAlias = "str | ConnectionPool[Any] | Engine | None"

POOL_SIZE = 10


class Connections:
    """Runs operations, each on a connection of its own. Opens at the first use; safe to share between threads.

    Of a DSN: at most `size` connections; `contact` hears of their troubles, and `patience` is the seconds of silence
    after which one of them is given up (None: no end).
    """

    def __init__(
        self, source: Source, *, size: int = POOL_SIZE, contact: Contact | None = None, patience: float | None = None
    ) -> None:
        self._conninfo = dsn.resolve(source) if source is None or isinstance(source, str) else None
        self._theirs: ConnectionPool[Any] | None = source if isinstance(source, ConnectionPool) else None
        self._engine: Engine | None = cast("Engine", source) if is_sqlalchemy(source, "engine.base.Engine") else None
        if self._conninfo is None and self._theirs is None and self._engine is None:
            raise TypeError(
                f"{type(source).__name__} is no source of connections here: give a DSN, a "
                "psycopg_pool.ConnectionPool or a SQLAlchemy Engine; AsyncClient takes their async twins"
            )
        if self._engine is not None:
            speaking_psycopg(self._engine)
        self._size = size
        self._contact = contact
        self._patience = patience
        self._lock = threading.Lock()
        self._ours: Pool | None = None
        self._checked = False

    def run(self, operation: Operation[T]) -> T:
        """Run an operation whose every statement may be committed by itself."""
        with own_errors(), watching(self._contact), self.borrow() as connection:
            execute = on_psycopg(connection)
            if getattr(connection, "names_level", True):
                execute = _naming_the_level(connection)
            return run(making_days(execute), operation)

    def transact(self, operation: Operation[T]) -> T:
        """Run an operation in one transaction at READ COMMITTED."""
        with own_errors(), watching(self._contact), self.borrow() as connection, read_committed(connection):
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
            return
        with self._theirs.connection() if self._theirs is not None else self._own_pool().connection() as connection:
            try:
                self._check(connection, check)
                yield connection
            except psycopg.Error as error:
                if is_read_only(error):
                    connection.close()  # a node that was demoted: another connection may find the primary
                raise

    def shrink(self) -> None:
        """Close those of ours that have been idle for long."""
        if self._ours is not None:
            self._ours.shrink()

    def close(self) -> None:
        """Close what we opened; a pool or engine of the user's stays open."""
        pool, self._ours = self._ours, None
        if pool is not None:
            pool.close()

    def _own_pool(self) -> Pool:
        with self._lock:
            if self._ours is None:
                assert self._conninfo is not None
                make = partial(connect, self._conninfo, contact=self._contact, patience=self._patience)
                self._ours = Pool(make, self._size)
            return self._ours

    def _check(self, connection: psycopg.Connection[Any], check: bool) -> None:
        if check and not self._checked:
            with read_committed(connection):
                run(on_psycopg(connection), check_schema())
            self._checked = True


def check_schema() -> Operation[None]:
    """Raise SchemaMismatch unless the schema is one that this release works on."""
    found = (yield Query("schema/version"))[0]["version"]
    if not suits(found or 0):
        raise SchemaMismatch(found, SCHEMA_VERSION)


def watching(contact: Contact | None) -> AbstractContextManager[None]:
    """Lets the contact hear of a connection that is lost."""
    return contact.watching() if contact else nullcontext()


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


def is_sqlalchemy(value: object, name: str) -> bool:
    """Whether a value is of this class of SQLAlchemy, without importing SQLAlchemy for those who do not use it."""
    return any(f"{cls.__module__}.{cls.__qualname__}" == f"sqlalchemy.{name}" for cls in type(value).__mro__)


def speaking_psycopg(thing: Any) -> Any:
    """An engine or connection of SQLAlchemy, if its driver is psycopg. Raises TypeError that says which it must be."""
    driver = thing.dialect.driver
    if driver not in ("psycopg", "psycopg_async"):
        raise TypeError(f"this engine speaks {driver}: Howdah needs psycopg, make it from postgresql+psycopg://…")
    return thing
