"""Howdah's roles in a test's database, and people who log in as members of them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from howdah.migrations import roles_script


def apply(dsn: str) -> None:
    """Run what `howdah migrate --roles` prints."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(roles_script().encode())


@contextmanager
def login(admin_dsn: str, *roles: str, options: str = "") -> Iterator[str]:
    """The DSN of a new login role that is a member of these."""
    name, password = f"someone_{secrets.token_hex(4)}", secrets.token_hex(8)
    with psycopg.connect(admin_dsn, autocommit=True) as admin:
        role = sql.Identifier(name)
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN {} PASSWORD {}").format(role, sql.SQL(options), password))  # type: ignore[arg-type]
        for group in roles:
            admin.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(group), role))
        try:
            yield make_conninfo(admin_dsn, user=name, password=password)
        finally:
            admin.execute(sql.SQL("DROP OWNED BY {} CASCADE; DROP ROLE {}").format(role, role))
