"""Operations: what can be asked of the database, written once for blocking and awaited callers.

An operation is a generator that yields queries and is sent their rows. It never begins, commits or rolls back a
transaction and catches no database error: whoever opened the connection owns the transaction.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

from howdah import sql

T = TypeVar("T")
Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Query:
    """A statement of `howdah.sql` with its parameters.

    `copy`: the rows that go in by COPY, where it is one. `confirmed`: a commit of which the server warns is an error.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    copy: Sequence[Sequence[Any]] | None = None
    confirmed: bool = False

    @property
    def text(self) -> str:
        return sql.load(self.name)


@dataclass(frozen=True, slots=True)
class Selection:
    """A statement whose shape varies, compiled by `store/search.py`."""

    text: str
    params: Mapping[str, Any]
    copy: None = None
    confirmed: bool = False


Operation: TypeAlias = Generator[Query | Selection, Rows, T]

# Several operations, each a transaction of its own, whose errors come back into the procedure: a pass of the reaper
# that meets a bad row goes on without it.
Procedure: TypeAlias = Generator[Operation[Any], Any, T]
