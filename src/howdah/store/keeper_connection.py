"""The lease keeper's own connection: one, blocking, opened again after a failure, used by one thread."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeVar

import psycopg

from howdah.store.connections import READ_COMMITTED, names_level, read_committed
from howdah.store.drivers import on_psycopg, run
from howdah.store.operation import Operation
from howdah.store.trouble import is_lost, own_errors

T = TypeVar("T")


class KeeperConnection:
    """Runs operations one after the other. A pool would wait for a connection while leases run out."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._connection: psycopg.Connection[Any] | None = None
        self._names_level = False

    def run(self, operation: Operation[T]) -> T:
        """Run an operation. Raises Unreachable; the next call opens the connection anew."""
        with own_errors():
            try:
                connection = self._open()
                if not self._names_level:
                    return run(on_psycopg(connection), operation)
                with read_committed(connection):
                    return run(on_psycopg(connection), operation)
            except psycopg.Error as error:
                if is_lost(error):
                    self.close()
                raise

    def close(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(psycopg.Error):
                connection.close()

    def _open(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._conninfo, autocommit=True)
            self._connection.isolation_level = READ_COMMITTED
            self._names_level = run(on_psycopg(self._connection), names_level())
        return self._connection
