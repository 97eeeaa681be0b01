"""Listings whose shape varies with the filter: built by SQLAlchemy, run on psycopg.

Live and finished jobs are selected apart, each in the order of its own index and limited, and then merged: over the
view of both, PostgreSQL reads and sorts every live job for the newest fifty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.psycopg import dialect

from howdah.model.filter import Filter
from howdah.store.operation import Operation, Query, Rows, Selection
from howdah.store.tables import history, jobs, kinds

# Of a table, with its cap of attempts and the moment of its end as expressions.
Columns: TypeAlias = Callable[[sa.Table, Any, Any], list[Any]]

_DIALECT = dialect()  # type: ignore[no-untyped-call]
# The finish is never before the enqueue but for a clock that stepped back.
_SLACK = 3600.0
# More new jobs than this between two looks are too many to be read by anybody; as a LIMIT it also keeps to the index.
MOST_NEW = 10_000
# Who extends a table together leaves room before its end to each other.
_BLOCKS = 128


def find(wanted: Filter | None = None, *, limit: int = 50) -> Operation[Rows]:
    """The newest jobs that the filter means, finished ones too, newest first.

    For a role that may not read errors, `error` is None.
    """
    columns = _with_error if (yield Query("jobs/readable"))[0]["errors"] else _without_error
    found = _merged([part.order_by(sa.desc("id")).limit(limit) for part in _parts(wanted or Filter(), columns)])
    return (yield _selection(found.order_by(sa.desc("id")).limit(limit)))


def find_ids(wanted: Filter, *, limit: int | None = None) -> Operation[dict[int, str]]:
    """The ids of the jobs that the filter means, oldest first, and the state of each."""
    found = _merged([part.order_by("id").limit(limit) for part in _parts(wanted, _id_and_state)])
    return {row["id"]: row["state"] for row in (yield _selection(found.order_by("id").limit(limit)))}


def find_changing(wanted: Filter, after: int, watched: Sequence[int]) -> Operation[Rows]:
    """The live jobs with an id over `after`, those that are held, and those of `watched`; one may come twice."""
    if not wanted.wants_live:
        return []
    part = _live(wanted, _with_error)
    ways = (
        part.where(jobs.c.id > after).order_by(jobs.c.id.desc()).limit(MOST_NEW),
        part.where(jobs.c.state.in_(["running", "unknown"])),
        part.where(jobs.c.id == sa.any_(sa.literal(watched, sa.ARRAY(sa.BigInteger)))),
    )
    return (yield _selection(_merged(ways)))


def find_finished(wanted: Filter, day: datetime, block: int, since: datetime) -> Operation[Rows]:
    """The jobs that finished `since` then and were written to the end of history's partition of a UTC day.

    The end begins a little before `block`. History has no index by time, but it is only added to. A row may have taken
    the place of one that was requeued and vacuumed away: such a one is not found.
    """
    if not wanted.wants_final:
        return []
    begin = day.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    behind = sa.text("howdah.history.ctid >= CAST(:place AS tid)").bindparams(place=f"({max(block - _BLOCKS, 0)},0)")
    ended = (history.c.finished_at >= max(begin, since), history.c.finished_at < begin + timedelta(days=1))
    return (yield _selection(_final(wanted, _with_error).where(*ended, behind)))


def _parts(wanted: Filter, columns: Columns) -> list[sa.Select[Any]]:
    parts = []
    if wanted.wants_live:
        parts.append(_live(wanted, columns))
    if wanted.wants_final:
        parts.append(_final(wanted, columns))
    return parts


def _live(wanted: Filter, columns: Columns) -> sa.Select[Any]:
    of_kind = sa.select(kinds.c.max_attempts).where(kinds.c.kind == jobs.c.kind).scalar_subquery()
    cap = sa.func.coalesce(jobs.c.max_attempts, of_kind, 10)
    never = sa.cast(sa.null(), sa.DateTime(timezone=True))
    return sa.select(*columns(jobs, cap, never)).where(*_conditions(jobs, wanted))


def _final(wanted: Filter, columns: Columns) -> sa.Select[Any]:
    chosen = columns(history, history.c.max_attempts, history.c.finished_at)
    query = sa.select(*chosen).where(*_conditions(history, wanted))
    if wanted.newer_than is not None:  # names the days
        query = query.where(history.c.finished_at >= _ago(wanted.newer_than + _SLACK))
    return query


def _id_and_state(table: sa.Table, cap: Any, finished_at: Any) -> list[Any]:
    return [table.c.id, table.c.state]


def _with_error(table: sa.Table, cap: Any, finished_at: Any) -> list[Any]:
    last = table.c.errors[-1]
    error = sa.func.nullif(sa.func.concat_ws(": ", last["type"].astext, last["message"].astext), "")
    return [*_without_error(table, cap, finished_at)[:-1], error.label("error")]


def _without_error(table: sa.Table, cap: Any, finished_at: Any) -> list[Any]:
    return [
        *(table.c[name] for name in ("id", "kind", "queue", "state", "attempt", "excused")),
        cap.label("max_attempts"),
        *(table.c[name] for name in ("run_at", "created_at", "claimed_at")),
        finished_at.label("finished_at"),
        *(table.c[name] for name in ("worker", "key", "subject", "tags")),
        sa.cast(sa.null(), sa.Text).label("error"),
    ]


def _conditions(table: sa.Table, wanted: Filter) -> list[sa.ColumnElement[bool]]:
    found = [
        table.c[name] == value
        for name in ("kind", "queue", "key", "subject", "worker")
        if (value := getattr(wanted, name)) is not None
    ]
    if wanted.states:
        found.append(table.c.state.in_(wanted.states))
    if wanted.tag is not None:
        found.append(sa.literal(wanted.tag) == sa.any_(table.c.tags))
    if wanted.older_than is not None:
        found.append(table.c.created_at <= _ago(wanted.older_than))
    if wanted.newer_than is not None:
        found.append(table.c.created_at > _ago(wanted.newer_than))
    if wanted.error is not None:
        found += [table.c.errors != sa.text("'[]'::jsonb"), _has_error(table, wanted.error)]
    return found


def _has_error(table: sa.Table, text: str) -> sa.ColumnElement[bool]:
    array = sa.case((sa.func.jsonb_typeof(table.c.errors) == "array", table.c.errors))
    entry = sa.func.jsonb_array_elements(array, type_=table.c.errors.type).column_valued("entry")
    parts = (entry["type"].astext, entry["message"].astext)
    said = sa.or_(*(part.icontains(text, autoescape=True) for part in parts))
    return sa.select(1).where(said).correlate(table).exists()


def _ago(seconds: float) -> Any:
    now = sa.select(sa.func.howdah.clock(type_=sa.DateTime(timezone=True))).scalar_subquery()
    return now - sa.literal(timedelta(seconds=seconds), sa.Interval())


def _merged(parts: Sequence[sa.Select[Any]]) -> sa.Select[Any]:
    return sa.select(sa.union_all(*(sa.select(part.subquery()) for part in parts)).subquery())


def _selection(query: sa.Select[Any]) -> Selection:
    compiled = query.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})
    return Selection(str(compiled), compiled.params)
