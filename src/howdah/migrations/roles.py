"""Howdah's roles: the SQL that makes them, and the same as data, so that `howdah doctor` asks for what it grants."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from howdah.migrations.steps import statements

_COMMENT = re.compile(r"--[^\n]*")
_GRANT = re.compile(
    r"GRANT (?P<privileges>.+?) ON (?:(?P<type>SCHEMA|FUNCTION|SEQUENCE) )?(?P<objects>.+?) TO (?P<roles>.+)"
)
_PRIVILEGE = re.compile(r"([A-Z]+)(?: \(([^)]*)\))?")


@dataclass(frozen=True, slots=True)
class Grant:
    """One right on one object. `type` is schema, table, column (then `field` names it), sequence or function."""

    privilege: str
    type: str
    object: str
    field: str | None = None

    def __str__(self) -> str:
        return f"{self.privilege}{f' ({self.field})' if self.field else ''} ON {self.object}"


def roles_script() -> str:
    """Howdah's roles and what each may do, as SQL for `psql`; says the same thing however often it is run."""
    return resources.files(__package__).joinpath("roles.sql").read_text()


def grants_of(role: str) -> list[Grant]:
    """What the script grants to a role."""
    found: list[Grant] = []
    for statement in statements(_COMMENT.sub("", roles_script())):
        match = _GRANT.fullmatch(" ".join(statement.split()))
        if match and role in match["roles"].split(", "):
            for name in match["objects"].split(", "):
                found += _grants(match["privileges"], (match["type"] or "table").lower(), name)
    return found


def _grants(privileges: str, kind: str, name: str) -> Iterator[Grant]:
    for privilege, columns in _PRIVILEGE.findall(privileges):
        if columns:
            yield from (Grant(privilege, "column", name, column) for column in columns.split(", "))
        else:
            yield Grant(privilege, kind, name)
