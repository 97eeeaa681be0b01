"""The frozen steps `NNNN.sql`, and how one is cut into statements."""

from __future__ import annotations

import re
from functools import cache
from importlib import metadata, resources

SCHEMA_VERSION = 1

# Two migrators at once would both find an empty database. The lock is the transaction's, so poolers do not matter.
LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('howdah.migrate', 0))"
LEDGER = "SELECT to_regclass('howdah.schema_version') IS NOT NULL"
VERSION = "SELECT coalesce(max(version), 0) FROM howdah.schema_version"
DROP = "DROP SCHEMA howdah CASCADE"

# Whoever waits for a strong lock makes everybody else wait behind it. An index, on the other hand, takes what it takes.
BRIEFLY = "SET LOCAL lock_timeout = '100ms'; SET LOCAL statement_timeout = 0"
HOLDER = """
    SELECT a.pid, a.application_name, a.state, left(a.query, 200)
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND c.relnamespace = to_regnamespace('howdah') AND l.granted AND l.pid <> pg_backend_pid()
    ORDER BY a.xact_start LIMIT 1
"""

_END = re.compile(r"(\$\w*\$)|(--[^\n]*)|('(?:[^']|'')*')|(;)")


def suits(found: int) -> bool:
    """Whether this release works on a schema of that version: its own, the one before, and the one after.

    So that the workers of two releases can share a database while one replaces the other (docs/decisions/014).
    """
    return found > 0 and abs(found - SCHEMA_VERSION) <= 1


@cache
def step(version: int, via: str = "howdah") -> tuple[str, ...]:
    """The statements that lead from `version - 1` to `version`, the entry in the ledger last."""
    text = resources.files(__package__).joinpath(f"{version:04}.sql").read_text()
    return (*statements(text), ledger_entry(version, via))


def ledger_entry(version: int, via: str) -> str:
    """The statement that writes a version into the ledger."""
    package = metadata.version("howdah").replace("'", "")
    return (
        f"INSERT INTO howdah.schema_version (version, via, package_version) VALUES ({version:d}, '{via}', '{package}')"  # noqa: S608
    )


def statements(text: str) -> list[str]:
    """A script's statements: cut at semicolons outside of quotes, comments and dollar-quoted bodies."""
    found, start, body = [], 0, ""
    for match in _END.finditer(text):
        dollar, _, _, end = match.groups()
        if dollar and body in ("", dollar):
            body = "" if body else dollar
        elif end and not body:
            found.append(text[start : match.start()].strip())
            start = match.end()
    return [statement for statement in found if statement]
