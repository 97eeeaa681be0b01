"""Listings whose shape varies with the filters: built by SQLAlchemy, run on psycopg."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.psycopg import dialect

from howdah.store.operation import Operation, Rows, Selection
from howdah.store.tables import all_jobs

_DIALECT = dialect()  # type: ignore[no-untyped-call]
_COLUMNS = (
    "id",
    "kind",
    "queue",
    "state",
    "attempt",
    "max_attempts",
    "run_at",
    "finished_at",
    "worker",
    "key",
    "subject",
)


def find(*, states: Sequence[str] = (), limit: int = 50, **equal: str | None) -> Operation[Rows]:
    """The newest jobs in one of these states, whose columns equal what is given; None does not filter."""
    query = sa.select(*(all_jobs.c[name] for name in _COLUMNS)).order_by(all_jobs.c.id.desc()).limit(limit)
    if states:
        query = query.where(all_jobs.c.state.in_(states))
    for name, value in equal.items():
        if value is not None:
            query = query.where(all_jobs.c[name] == value)
    compiled = query.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    return (yield Selection(str(compiled), compiled.params))
