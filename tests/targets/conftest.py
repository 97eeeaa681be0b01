from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest


@pytest.fixture
def count(conn: psycopg.Connection) -> Callable[[], int]:
    """How many jobs and keys others see."""

    def see() -> int:
        row = conn.execute(
            "SELECT (SELECT count(*) FROM howdah.all_jobs) + (SELECT count(*) FROM howdah.keys)"
        ).fetchone()
        assert row is not None
        return int(row[0])

    return see


@pytest.fixture
def states(conn: psycopg.Connection) -> Callable[[], list[Any]]:
    """The states of all jobs, in the order of their ids, as others see them."""
    return lambda: [state for (state,) in conn.execute("SELECT state FROM howdah.all_jobs ORDER BY id").fetchall()]
