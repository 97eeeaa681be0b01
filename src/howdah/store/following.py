"""Following jobs as they change, by looking again and again at little.

A look reads the newest ids, the jobs that are held, those it has shown lately, and the end of history, so that it costs
the same behind a million finished jobs. What it cannot see:

* of more than MOST_NEW new jobs, the older ones;
* a state that a job has left again before the next look, but for its end;
* an older job, not shown yet, that is claimed and put back between two looks;
* what a transaction commits that has been writing for more than `PATIENCE`, a minute;
* an end whose row took the place of one that was requeued and vacuumed away.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from howdah.model.filter import Filter
from howdah.model.following import Changes, Horizon, Mark, Row
from howdah.store import search
from howdah.store.operation import Operation, Query, Rows


class Follower:
    """Each `look` gives what has changed since the one before; the first gives nothing."""

    def __init__(self, wanted: Filter) -> None:
        self._wanted = wanted
        self._changes = Changes()
        self._horizon: Horizon | None = None

    def look(self) -> Operation[list[Row]]:
        """The jobs that have changed, in the order in which they did, with `at`: when, as far as that is known."""
        mark = Mark(**(yield Query("jobs/mark"))[0])
        horizon = self._horizon or Horizon(mark)
        live = yield from search.find_changing(self._wanted, horizon.floor.id, self._changes.watched)
        final = list((yield from self._ended(horizon.floor.now, horizon.floor.block, horizon.since)))
        if mark.now.astimezone(UTC).date() != horizon.floor.now.astimezone(UTC).date():
            final += yield from self._ended(mark.now, 0, horizon.since)
        found = self._changes.since(live, final)
        is_first, self._horizon = self._horizon is None, horizon
        horizon.looked(mark)
        return [] if is_first else sorted(({**row, "at": _when(row, mark)} for row in found), key=lambda row: row["at"])

    def _ended(self, day: datetime, block: int, since: datetime) -> Operation[Rows]:
        return search.find_finished(self._wanted, day, block, since)


def _when(row: Row, mark: Mark) -> object:
    if row["finished_at"]:
        return row["finished_at"]
    if row["state"] == "running":
        return row["claimed_at"]
    if row["attempt"] == 0 and mark.now - row["created_at"] < timedelta(minutes=1):
        return row["created_at"]
    return mark.now
