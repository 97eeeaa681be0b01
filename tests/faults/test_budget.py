"""How many connections a worker opens: never more than it says, and fewer when there is less to do."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from howdah import Client
from howdah.client.kind import AnyKind
from howdah.store import pool
from howdah.worker import leasekeeper
from tests.faults import kinds
from tests.faults.conftest import all_completed, working
from tests.support.held import wait_until

OPEN = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'budget'"
SLOTS = 4


@pytest.mark.parametrize(
    ("kind", "threads", "at_once", "budget"),
    [
        (kinds.hold_in_transaction, None, SLOTS, 6 + SLOTS),
        (kinds.hold_in_transaction, 2, 2, 6 + 2),
        (kinds.hold_in_async_transaction, None, SLOTS, 6 + SLOTS),
    ],
    ids=["sync", "sync with two threads", "async"],
)
def test_a_worker_keeps_its_budget_under_twice_its_slots_of_transactions(
    dsn: str,
    conn: psycopg.Connection[Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    kind: AnyKind,
    threads: int | None,
    at_once: int,
    budget: int,
) -> None:
    monkeypatch.setattr(pool, "IDLE", 0.5)
    monkeypatch.setattr(leasekeeper, "BEAT", 0.2)
    caplog.set_level("INFO")
    seen = 0

    def connections() -> int:
        nonlocal seen
        seen = max(seen, _count(conn))
        return seen

    of_one = {"kinds": [kind], "queues": {"default": SLOTS}, "threads": threads}
    with working(f"{dsn} application_name=budget", observer=dsn, **of_one), Client(dsn) as client:
        made = [kind.enqueue(client, str(n)).id for n in range(2 * SLOTS)]
        for n, job_id in enumerate(made):
            wait_until(lambda job_id=job_id: connections() and kinds.ran[job_id], what="the job to run")
            if n + 1 >= at_once:
                kinds.gate(str(n + 1 - at_once)).set()
        for n in range(len(made)):
            kinds.gate(str(n)).set()
        all_completed(dsn, made)
        assert at_once < connections() <= budget
        assert f"at most {budget} connections" in caplog.text
        wait_until(lambda: _count(conn) <= 4, what="idle connections to be closed")


def _count(conn: psycopg.Connection[Any]) -> int:
    row = conn.execute(OPEN).fetchone()
    assert row is not None
    return int(row[0])
