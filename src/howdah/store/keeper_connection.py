"""The lease keeper's own connection: one, blocking, opened again after a failure, used by one thread."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeVar

import psycopg

from howdah.store.connections import read_committed, watching
from howdah.store.contact import Contact
from howdah.store.drivers import on_psycopg, run
from howdah.store.operation import Operation
from howdah.store.own_connection import PATIENCE, OwnConnection, connect
from howdah.store.trouble import is_lost, own_errors

T = TypeVar("T")


class KeeperConnection:
    """Runs operations one after the other. A pool would wait for a connection while leases run out."""

    def __init__(self, conninfo: str, *, contact: Contact | None = None, patience: float = PATIENCE) -> None:
        self._conninfo = conninfo
        self._contact = contact
        self._patience = patience
        self._connection: OwnConnection | None = None

    def run(self, operation: Operation[T]) -> T:
        """Run an operation. Raises Unreachable; the next call opens the connection anew."""
        with own_errors(), watching(self._contact):
            try:
                connection = self._open()
                if not connection.names_level:
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

    def _open(self) -> OwnConnection:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._conninfo, contact=self._contact, patience=self._patience)
        return self._connection
