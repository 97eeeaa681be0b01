"""Queues as operators see them; `pause` and `resume` are in `store/jobs.py`."""

from __future__ import annotations

from howdah.store.operation import Operation, Query, Rows


def every() -> Operation[Rows]:
    """How each queue stands, by name. Reads every live job."""
    return (yield Query("queues/list"))


def names() -> Operation[list[str]]:
    """The queues that anybody serves, sends to or has paused."""
    return [row["queue"] for row in (yield Query("queues/names"))]
