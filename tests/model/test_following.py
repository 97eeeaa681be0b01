"""Which rows a reader may stop to look at, and what it calls a change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from howdah.model.following import MARGIN, PATIENCE, WATCHED, Changes, Horizon, Mark

START = datetime(2030, 1, 1, tzinfo=UTC)
STEP = MARGIN * 2


def mark(n: int, *, oldest: int, next: int) -> Mark:  # noqa: A002
    return Mark(now=START + n * STEP, oldest=oldest, next=next, id=1000 * n, block=n)


def row(job_id: int, state: str = "available", attempt: int = 0) -> dict[str, Any]:
    return {"id": job_id, "state": state, "attempt": attempt}


def test_the_floor_rises_to_a_mark_once_all_that_was_open_there_has_ended() -> None:
    horizon = Horizon(mark(5, oldest=10, next=10))
    assert horizon.floor.id < 5000
    horizon.looked(mark(6, oldest=12, next=15))  # transaction 12 is open
    assert horizon.floor.id == 5000
    horizon.looked(mark(7, oldest=12, next=20))
    assert horizon.floor.id == 5000
    horizon.looked(mark(8, oldest=21, next=21))
    assert horizon.floor.id == 7000
    assert horizon.since == horizon.floor.now - MARGIN


def test_one_look_alone_moves_nothing_and_a_young_mark_is_not_trusted() -> None:
    first = mark(5, oldest=10, next=10)
    horizon = Horizon(first)
    horizon.looked(first)
    horizon.looked(Mark(now=first.now + MARGIN / 2, oldest=99, next=99, id=6000, block=9))
    assert horizon.floor.id < 5000
    assert horizon.since == first.now - PATIENCE


def test_a_transaction_that_writes_for_ever_is_not_waited_for() -> None:
    horizon = Horizon(mark(1, oldest=10, next=12))
    steps = int((PATIENCE + timedelta(seconds=1)) / STEP) + 3
    for n in range(2, steps):
        horizon.looked(mark(n, oldest=10, next=12 + n))
    assert horizon.floor.id >= 1000


def test_a_change_is_another_state_or_attempt_and_told_once() -> None:
    changes = Changes()
    assert [found["id"] for found in changes.since([row(1), row(2)], [row(3, "completed", 1)])] == [1, 2, 3]
    assert changes.since([row(1), row(2)], [row(3, "completed", 1)]) == []
    assert changes.since([row(1, "running", 1), row(2)], []) == [row(1, "running", 1)]
    assert changes.since([row(1, "running", 2)], []) == [row(1, "running", 2)]
    assert changes.since([], [row(1, "completed", 2)]) == [row(1, "completed", 2)]


def test_what_was_shown_lately_is_watched_and_no_more_than_that() -> None:
    changes = Changes()
    changes.since([row(n) for n in range(WATCHED + 10)], [])
    changes.since([row(5, "running", 1)], [])
    assert len(changes.watched) == WATCHED
    assert changes.watched[-1] == 5
    assert WATCHED + 9 in changes.watched
