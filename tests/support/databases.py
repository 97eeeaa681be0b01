"""Databases that come and go on a server: unique among all workers and all runs."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from tests.support.servers import Server


@contextmanager
def database(server: Server, *, template: str | None = None) -> Iterator[str]:
    """Create a database, empty or a copy of another, and drop it afterwards whoever is still connected. Its name."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    name = sql.Identifier(f"howdah_{worker}_{secrets.token_hex(4)}")
    source = sql.Identifier(template or "template0")  # template1 may hold what somebody put there
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, source))
        try:
            yield name.as_string(None).strip('"')
        finally:
            admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))


def empty(dsn: str) -> None:
    """Empty all tables of Howdah but the record of its schema. Sequences go on: a test must not know an id."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        # A connection that a test forgot would keep us waiting for ever.
        conn.execute("SET lock_timeout = '5s'")
        tables = conn.execute(
            """
            SELECT format('%I.%I', relnamespace::regnamespace, relname) FROM pg_class
            WHERE relnamespace = to_regnamespace('howdah') AND relkind IN ('r', 'p') AND NOT relispartition
              AND relname <> 'schema_version'
            """
        ).fetchall()
        if tables:
            names = sql.SQL(", ").join(sql.SQL(name) for (name,) in tables)
            conn.execute(sql.SQL("TRUNCATE {} CASCADE").format(names))
