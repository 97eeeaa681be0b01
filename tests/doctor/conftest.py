"""What the doctor says of a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import psycopg
import pytest

from howdah.diagnosis import Finding, Limits, Severity
from howdah.store.diagnosis import diagnose

Said: TypeAlias = dict[str, list[Finding]]
Ask: TypeAlias = Callable[..., Said]


def ask(dsn: str, **limits: Any) -> Said:
    """What is worth a word, by id. The test server's own lack of durability is not."""
    said: Said = {}
    for finding in diagnose(dsn, limits=Limits(**limits)):
        if finding.severity > Severity.OK and finding.id != "durability":
            said.setdefault(finding.id, []).append(finding)
    return said


def only(said: Said, name: str, severity: Severity | None = None) -> Finding:
    """The one finding of this id, which is all that was said."""
    assert list(said) == [name], said
    (finding,) = said[name]
    assert severity is None or finding.severity is severity
    assert finding.advice
    return finding


@pytest.fixture
def own(cloned_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection to a database that nothing else uses, whose schema the test may spoil; `own.info.dsn` asks it."""
    with psycopg.connect(cloned_dsn, autocommit=True) as connection:
        yield connection
