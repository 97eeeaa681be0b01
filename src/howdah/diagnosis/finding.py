"""What `howdah doctor` says: one finding, and how bad it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

FINE, TROUBLE, BEHIND = 0, 1, 3


class Severity(IntEnum):
    """`note` is worth knowing; `warning` will cost something; `problem` means that jobs do not run as they should."""

    OK = 0
    NOTE = 1
    WARNING = 2
    PROBLEM = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding. `id` is stable and documented; `facts` are what was seen; `advice` is what to do, or nothing."""

    id: str
    severity: Severity
    title: str
    advice: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


def exit_status(findings: Iterable[Finding]) -> int:
    """0 when nothing is worse than a note, 3 when the schema is known not to be this release's, else 1."""
    bad = [finding for finding in findings if finding.severity >= Severity.WARNING]
    if any(finding.id == "schema-version" and "needed" in finding.facts for finding in bad):
        return BEHIND
    return TROUBLE if bad else FINE


def sql_text(value: str) -> str:
    """A value as SQL says it, for a command that somebody will paste."""
    return "'" + value.replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """A name as SQL says it."""
    return name if re.fullmatch("[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'


def sized(size: float) -> str:
    """A size in bytes for a person."""
    return f"{size / 2**20:.0f} MiB" if size < 2**30 else f"{size / 2**30:.1f} GiB"
