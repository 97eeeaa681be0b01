"""A cancel that meets another step of the same job."""

from __future__ import annotations

from typing import Any

import psycopg

from howdah import Client, JobState
from howdah.store.claiming import claim
from howdah.store.drivers import on_psycopg, run
from tests.support.held import Connect, background, wait_until


def test_a_cancel_that_waits_for_a_claim_becomes_a_request(
    dsn: str, conn: psycopg.Connection[Any], connect: Connect
) -> None:
    with Client(dsn) as client:
        job = client.enqueue("x", {})
        claimer = connect(autocommit=False)
        assert len(run(on_psycopg(claimer), claim({"default": 1}, 1, worker="w"))) == 1
        cancelling = background(lambda: client.cancel(job.id))
        wait_until(lambda: conn.execute(BLOCKED).fetchone(), what="the cancel to wait for the claim")
        claimer.commit()
        after = cancelling.result()
    assert (after.state, after.attempt, after.cancel_requested_at is not None) == (JobState.RUNNING, 1, True)


BLOCKED = (
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    " AND application_name = 'howdah'"
)
