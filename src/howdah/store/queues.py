"""Queues as operators see them. `pause` and `resume` are in `store/jobs.py`: clients need them, and not SQLAlchemy."""

from __future__ import annotations

from collections.abc import Sequence

from howdah.model.filter import Filter
from howdah.model.job import FINAL, JobState
from howdah.model.nearest import nearest
from howdah.store.operation import Operation, Query, Rows
from howdah.store.search import find


def every() -> Operation[Rows]:
    """How each queue stands, by name. Reads every live job."""
    return (yield Query("queues/list"))


def names() -> Operation[list[str]]:
    """The queues that anybody serves, sends to or has paused."""
    return [row["queue"] for row in (yield Query("queues/names"))]


def unheard_of(wanted: Sequence[str]) -> Operation[dict[str, str]]:
    """Those of them that have no worker, kind or live job and were never paused, with the nearest that has.

    Reads every live job for one that has none.
    """
    known = yield from names()
    found = {}
    for queue in wanted:
        if queue not in (*known, "default"):
            live = Filter(queue=queue, states=tuple(sorted(set(JobState) - FINAL)))
            if not (yield from find(live, limit=1)):
                found[queue] = nearest(queue, known)
    return found
