"""Connections of our own: each knows its database's level, whether a pooler is in between, and when to give up."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, TypeVar

import msgspec
import psycopg
from psycopg import capabilities
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_loads

from howdah.store.contact import Contact
from howdah.store.drivers import on_async_psycopg, on_psycopg, run, run_async
from howdah.store.dsn import may_prepare
from howdah.store.operation import Operation, Query

T = TypeVar("T")

READ_COMMITTED = psycopg.IsolationLevel.READ_COMMITTED

# Seconds without a byte from the server after which a worker's own statement is given up. Sockets through a proxy and
# Unix sockets never fail by themselves; none of these statements waits long for a lock or reads much, so a server that
# is merely slow has answered; and 10 and CANCELLING together are under the 15 s within which tcp_user_timeout acts.
PATIENCE = 10.0
CANCELLING = 2.0


class Silent(psycopg.OperationalError):
    """PostgreSQL has said nothing for too long, and the connection was closed."""


class OwnConnection(psycopg.Connection[TupleRow]):
    """A blocking connection of ours.

    `names_level`: the role's default is another level than READ COMMITTED. `patience`: the seconds of silence after
    which a statement is cancelled, as far as that is possible, and the connection closed; None: no end.
    """

    names_level: bool = False
    patience: float | None = None

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """As psycopg's, which every statement goes through, with patience; a wait that has its own end keeps that."""
        if self.patience is None or args or kwargs:
            return super().wait(gen, *args, **kwargs)
        try:
            return super().wait(_until_silent(gen, self.patience))
        except Silent:
            # A backend that waits for a lock would wait on, and the next try beside it.
            with suppress(psycopg.Error):
                if capabilities.has_cancel_safe():
                    self.cancel_safe(timeout=CANCELLING)
            self.close()
            raise


class OwnAsyncConnection(psycopg.AsyncConnection[TupleRow]):
    """As `OwnConnection`, awaited."""

    names_level: bool = False
    patience: float | None = None

    async def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """As `OwnConnection.wait`."""
        if self.patience is None or args or kwargs:
            return await super().wait(gen, *args, **kwargs)
        try:
            return await super().wait(_until_silent(gen, self.patience))
        except Silent:
            with suppress(psycopg.Error):
                if capabilities.has_cancel_safe():
                    await self.cancel_safe(timeout=CANCELLING)
            await self.close()
            raise


def connect(conninfo: str, *, contact: Contact | None, patience: float | None) -> OwnConnection:
    """A new connection in autocommit mode. Raises what psycopg raises; Unreachable by `contact`."""
    with _connecting(contact):
        connection = OwnConnection.connect(conninfo, autocommit=True)
        try:
            connection.patience = patience
            set_json_loads(readable, connection)
            connection.isolation_level = READ_COMMITTED
            connection.names_level, pid = run(on_psycopg(connection), _session())
            if not may_prepare(pooled=pid != connection.info.backend_pid):
                connection.prepare_threshold = None
        except BaseException:
            connection.close()
            raise
        return connection


async def connect_async(conninfo: str, *, contact: Contact | None, patience: float | None) -> OwnAsyncConnection:
    """As `connect`, awaited."""
    with _connecting(contact):
        connection = await OwnAsyncConnection.connect(conninfo, autocommit=True)
        try:
            connection.patience = patience
            set_json_loads(readable, connection)
            await connection.set_isolation_level(READ_COMMITTED)
            connection.names_level, pid = await run_async(on_async_psycopg(connection), _session())
            if not may_prepare(pooled=pid != connection.info.backend_pid):
                connection.prepare_threshold = None
        except BaseException:
            await connection.close()
            raise
        return connection


def is_usable(connection: OwnConnection | OwnAsyncConnection) -> bool:
    """Whether an idle connection has not been closed by the other side, as far as that is known here."""
    try:
        for _ in range(2):  # what the server said last may come before its end
            connection.pgconn.consume_input()
    except psycopg.Error:
        return False
    return not connection.closed


def readable(data: str | bytes) -> Any:
    """The value of a JSON text; of one that Python cannot read, a text that says so: it must not cost its batch."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass  # a number that it calls too large, for example
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        return f"(cannot be read: {error})"


def _session() -> Operation[tuple[bool, int]]:
    """Whether a statement would run at another level than READ COMMITTED, and the backend's process id."""
    found = yield Query("schema/session")
    return found[0]["level"] != "read committed", found[0]["pid"]


def _connecting(contact: Contact | None) -> AbstractContextManager[None]:
    return contact.connecting() if contact else nullcontext()


def _until_silent(gen: Generator[Any, Any, T], seconds: float) -> Generator[Any, Any, T]:
    """Passes on what psycopg waits for, and raises Silent when nothing has come for so long."""
    try:
        wanted = next(gen)
        heard = time.monotonic()
        while True:
            ready = yield wanted
            now = time.monotonic()
            if ready:
                heard = now
            elif now - heard >= seconds:
                raise Silent(f"PostgreSQL has been silent for {seconds:g} s, the connection is given up")
            wanted = gen.send(ready)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
