"""Moments that no clock shows: refused, or harmless."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from howdah import Client, LeaseLost

One = Callable[..., dict[str, Any]]
MOMENTS = [
    "run_at",
    "created_at",
    "claimed_at",
    "started_at",
    "lease_expires_at",
    "expires_at",
    "cancel_requested_at",
]


@pytest.mark.parametrize("moment", ["infinity", "-infinity"])
@pytest.mark.parametrize("column", MOMENTS)
def test_an_infinite_moment_is_refused(column: str, moment: str, client: Client, conn: psycopg.Connection) -> None:
    client.enqueue("a", {})
    client.claim(worker="w")
    with pytest.raises(psycopg.errors.CheckViolation, match="moments_are_finite"):
        conn.execute(f"UPDATE howdah.jobs SET {column} = '{moment}'".encode())


def test_an_infinite_key_window_is_refused(conn: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.CheckViolation, match="moments_are_finite"):
        conn.execute("INSERT INTO howdah.keys (kind, key, job_id, free_at) VALUES ('a', 'k', 1, 'infinity')")


def test_a_lease_to_the_year_9999_is_reaped(client: Client, conn: psycopg.Connection, one: One) -> None:
    job_id = client.enqueue("a", {}).id
    lease = client.claim(worker="w")[0].lease
    conn.execute("UPDATE howdah.jobs SET lease_expires_at = '9999-12-31 23:59:59+00'")
    assert client.reap().retried == 1
    row = one("SELECT state, lease_expires_at, run_at < now() + interval '1 hour' AS soon FROM howdah.jobs")
    assert row == {"state": "scheduled", "lease_expires_at": None, "soon": True}
    with pytest.raises(LeaseLost):
        client.complete(lease)
    conn.execute("UPDATE howdah.jobs SET run_at = now() - interval '1 second'")
    client.sweep()
    assert client.claim(worker="w")[0].id == job_id


def test_leases_given_before_the_clock_stepped_back_do_not_stay_for_ever(cloned_dsn: str) -> None:
    with Client(cloned_dsn) as client, psycopg.connect(cloned_dsn, autocommit=True) as conn:
        _clock(conn, "clock_timestamp() + interval '30 years'")
        client.sweep()
        client.enqueue("a", {})
        client.claim(worker="w", lease=60)
        _clock(conn, "clock_timestamp()")
        assert client.reap().retried == 1


def test_a_lease_within_its_24_hours_is_left_alone(client: Client) -> None:
    client.enqueue("a", {})
    lease = client.claim(worker="w", lease=timedelta(hours=24))[0].lease
    assert client.reap() == type(client.reap())()
    assert client.complete(lease) == "completed"


def test_a_job_due_in_years_does_not_stop_the_others(client: Client, one: One) -> None:
    for n in range(20):
        client.enqueue("a", {}, run_at=datetime(9999, 1, 1, tzinfo=UTC), priority=-100 + n)
    due = client.enqueue("a", {}, delay=60).id
    ready = client.enqueue("a", {}).id
    one("UPDATE howdah.jobs SET run_at = now() - interval '1 second' WHERE id = %s RETURNING id", due)
    assert client.sweep()["promoted"] == 1
    assert {job.id for job in client.claim(limit=50, worker="w")} == {due, ready}


def test_a_job_due_long_ago_is_available_at_once(client: Client) -> None:
    job_id = client.enqueue("a", {}, run_at=datetime(1, 1, 2, tzinfo=UTC)).id
    assert client.claim(worker="w")[0].id == job_id
    assert client.get(job_id).run_at == datetime(1, 1, 2, tzinfo=UTC)


def _clock(conn: psycopg.Connection, now: str) -> None:
    conn.execute(
        f"CREATE OR REPLACE FUNCTION howdah.clock() RETURNS timestamptz LANGUAGE sql AS $$SELECT {now}$$".encode()
    )
