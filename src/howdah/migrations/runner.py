"""The runner: brings a database to this release's schema, safe to start ten times at once, and while workers work."""

from __future__ import annotations

import random
import time

import psycopg
from psycopg.rows import tuple_row

from howdah.migrations.steps import BRIEFLY, HOLDER, LEDGER, LOCK, SCHEMA_VERSION, VERSION, step, suits
from howdah.model.errors import HowdahError, SchemaMismatch

PATIENCE = 60.0
THERE_ALREADY = ("42P06", "42P07", "42701", "42710", "42723")  # a schema, table, column, object or function
PAUSES = (0.1, 1.0)  # seconds between tries: the first, doubled each time, and the longest


def migrate(
    connection: psycopg.Connection | str, *, to: int = SCHEMA_VERSION, patience: float | None = None
) -> list[int]:
    """Apply the missing steps in one transaction; gives the versions applied, none when there was nothing to do.

    `connection` is a DSN, or a psycopg connection outside of a transaction. Needs the right to create a schema in the
    database, not a superuser. A step that waits 100 ms for a lock gives way to those that queue behind it and is tried
    again, for `patience` seconds, by default a minute. Raises TimeoutError, which says who holds the lock,
    SchemaMismatch where the database is newer than this release can work on, and HowdahError where something that the
    ledger does not know is in the way.
    """
    if isinstance(connection, str):
        with psycopg.connect(connection, autocommit=True) as own:
            return migrate(own, to=to, patience=patience)
    patience = PATIENCE if patience is None else patience
    end, pause = time.monotonic() + patience, PAUSES[0]
    while True:
        try:
            return _try(connection, to)
        except psycopg.errors.LockNotAvailable as error:
            if time.monotonic() + pause > end:
                raise TimeoutError(_who(connection, patience)) from error
        time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  ten migrators should not try in step
        pause = min(2 * pause, PAUSES[1])


def _try(connection: psycopg.Connection, to: int) -> list[int]:
    level = connection.isolation_level
    # At a stricter level the snapshot would precede the lock, and hide what the other migrator has done.
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    try:
        with connection.transaction(), psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
            cursor.execute(LOCK)
            found = _version(cursor)
            if found > SCHEMA_VERSION and not suits(found):
                raise SchemaMismatch(found, SCHEMA_VERSION)
            cursor.execute(BRIEFLY)
            applied = list(range(found + 1, to + 1))
            for version in applied:
                for statement in step(version):
                    cursor.execute(statement.encode())
    except psycopg.ProgrammingError as error:
        if error.sqlstate not in THERE_ALREADY:
            raise
        raise HowdahError(_in_the_way(error)) from error
    finally:
        connection.isolation_level = level
    return applied


def applied_version(connection: psycopg.Connection) -> int:
    """The version that the ledger says, 0 without a schema."""
    with psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
        return _version(cursor)


def script(to: int = SCHEMA_VERSION) -> str:
    """Everything the runner would do on an empty database, as SQL for `psql`."""
    lock = f"DO $$BEGIN PERFORM {LOCK.removeprefix('SELECT ')}; END$$"  # which prints nothing
    parts = [lock, *(statement for version in range(1, to + 1) for statement in step(version))]
    return "BEGIN ISOLATION LEVEL READ COMMITTED;\n\n" + "".join(f"{part};\n\n" for part in parts) + "COMMIT;\n"


def _who(connection: psycopg.Connection, patience: float) -> str:
    with psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
        row = cursor.execute(HOLDER).fetchone()
    holder = "pid {}, application {!r}, {}: {}".format(*row) if row else "it has gone by now"
    return (
        f"a table of howdah was locked by others for {patience:g} s, so nothing was changed ({holder}). "
        "End that transaction, or run again later: howdah migrate"
    )


def _in_the_way(error: psycopg.Error) -> str:
    return (
        f"{error.diag.message_primary}, and the ledger howdah.schema_version does not know it; nothing was changed. "
        "Either the ledger was emptied: restore it from a backup; or schema howdah is somebody else's: use another "
        "database; or it may go, with all jobs in it: DROP SCHEMA howdah CASCADE, then howdah migrate"
    )


def _version(cursor: psycopg.Cursor) -> int:
    there = cursor.execute(LEDGER).fetchone()
    if not there or not there[0]:
        return 0
    row = cursor.execute(VERSION).fetchone()
    return int(row[0]) if row else 0
