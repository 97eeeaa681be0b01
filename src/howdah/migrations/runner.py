"""The runner: brings a database to this release's schema, safe to start ten times at once."""

from __future__ import annotations

import psycopg
from psycopg.rows import tuple_row

from howdah.migrations.steps import LEDGER, LOCK, SCHEMA_VERSION, VERSION, step
from howdah.model.errors import SchemaMismatch


def migrate(connection: psycopg.Connection | str, *, to: int = SCHEMA_VERSION) -> list[int]:
    """Apply the missing steps in one transaction; gives the versions applied, none when there was nothing to do.

    `connection` is a DSN, or a psycopg connection outside of a transaction. Needs the right to create a schema in the
    database, not a superuser. Raises SchemaMismatch where the database is newer than this release.
    """
    if isinstance(connection, str):
        with psycopg.connect(connection, autocommit=True) as own:
            return migrate(own, to=to)
    level = connection.isolation_level
    # At a stricter level the snapshot would precede the lock, and hide what the other migrator has done.
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    try:
        with connection.transaction(), psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
            cursor.execute(LOCK)
            found = _version(cursor)
            if found > SCHEMA_VERSION:
                raise SchemaMismatch(found, SCHEMA_VERSION)
            applied = list(range(found + 1, to + 1))
            for version in applied:
                for statement in step(version):
                    cursor.execute(statement.encode())
    finally:
        connection.isolation_level = level
    return applied


def applied_version(connection: psycopg.Connection) -> int:
    """The version that the ledger says, 0 without a schema."""
    with psycopg.Cursor(connection, row_factory=tuple_row) as cursor:
        return _version(cursor)


def script(to: int = SCHEMA_VERSION) -> str:
    """Everything the runner would do on an empty database, as SQL for `psql`."""
    parts = [LOCK, *(statement for version in range(1, to + 1) for statement in step(version))]
    return "BEGIN ISOLATION LEVEL READ COMMITTED;\n\n" + "".join(f"{part};\n\n" for part in parts) + "COMMIT;\n"


def _version(cursor: psycopg.Cursor) -> int:
    there = cursor.execute(LEDGER).fetchone()
    if not there or not there[0]:
        return 0
    row = cursor.execute(VERSION).fetchone()
    return int(row[0]) if row else 0
