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

_END = re.compile(r"(\$\w*\$)|(--[^\n]*)|('(?:[^']|'')*')|(;)")


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
