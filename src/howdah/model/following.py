"""What has changed since one looked last, where changes may become visible later than they were made.

A reader who remembers "the highest id so far" misses whatever was given a lower id by a transaction that committed
later. So each look takes a mark first, and a mark becomes the floor of the next looks only once every transaction that
was open at the mark has ended: what lies below the floor has been seen, all of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

Row: TypeAlias = Mapping[str, Any]

# An id is drawn a moment before its transaction becomes visible as an open one, and clocks are set back a little.
MARGIN = timedelta(seconds=2)
# A transaction that writes for longer than this must not make every look read everything since it began.
PATIENCE = timedelta(seconds=60)
WATCHED = 2_000
OPEN_AT_FIRST = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Where the tables stood at one moment, and which transactions were open.

    `oldest` is the first transaction that may be open, `next` the first that had not begun; `id` is the highest job's;
    `block` is where history's partition of the day of `now` ended.
    """

    now: datetime
    oldest: int
    next: int
    id: int
    block: int


class Horizon:
    """Behind which mark, the `floor`, everything has been seen, and `since` when what finished may be new."""

    def __init__(self, first: Mark) -> None:
        # What was open at the first mark has ids a little under its.
        self.floor = replace(first, id=first.id - OPEN_AT_FIRST)
        self.since = first.now - PATIENCE
        self._pending = deque([first])

    def looked(self, mark: Mark) -> None:
        """The look that took this mark has read everything above the floor."""
        self._pending.append(mark)
        while self._pending and self._is_decided(self._pending[0], mark):
            self.floor = self._pending.popleft()
            self.since = self.floor.now - MARGIN

    @staticmethod
    def _is_decided(old: Mark, new: Mark) -> bool:
        age = new.now - old.now
        return age > PATIENCE or (age >= MARGIN and old.next <= new.oldest)


class Changes:
    """Tells what is new in a look from what the looks before it have shown."""

    def __init__(self) -> None:
        self._live: dict[int, tuple[Any, ...]] = {}
        self._final: set[tuple[Any, ...]] = set()
        self._watched: dict[int, None] = {}

    @property
    def watched(self) -> list[int]:
        """The jobs to look at by their ids: they may change to what nothing else finds."""
        return list(self._watched)

    def since(self, live: Iterable[Row], final: Iterable[Row]) -> list[Row]:
        """The rows of this look that are not as they were, in no order."""
        now_live = {row["id"]: row for row in live}
        now_final = {_standing(row): row for row in final}
        found = [row for job_id, row in now_live.items() if self._live.get(job_id) != _standing(row)]
        found += [row for standing, row in now_final.items() if standing not in self._final]
        self._live = {job_id: _standing(row) for job_id, row in now_live.items()}
        self._final = set(now_final)
        self._watch(row["id"] for row in found)
        return found

    def _watch(self, ids: Iterable[int]) -> None:
        for job_id in ids:
            self._watched.pop(job_id, None)
            self._watched[job_id] = None
        while len(self._watched) > WATCHED:
            del self._watched[next(iter(self._watched))]


def _standing(row: Row) -> tuple[Any, ...]:
    return row["id"], row["state"], row["attempt"]
