"""`howdah.enqueue` in SQL: for triggers, and for programs in other languages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from howdah import Client
from tests.support.held import Connect, background, held, wait_until_blocked

One = Callable[..., dict[str, Any]]

TRIGGER = """
CREATE SCHEMA shop;
CREATE TABLE shop.orders (id bigint PRIMARY KEY, email text, key text DEFAULT 'not a unique key');
CREATE FUNCTION shop.confirm() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM howdah.enqueue(
        'confirm', jsonb_build_object('order_id', new.id, 'to', new.email), key => 'order:' || new.id);
    RETURN NULL;
END $$;
CREATE TRIGGER confirm AFTER INSERT ON shop.orders FOR EACH ROW EXECUTE FUNCTION shop.confirm();
"""


def test_a_trigger_enqueues_in_the_transaction_of_the_insert(cloned_dsn: str) -> None:
    with psycopg.connect(cloned_dsn, autocommit=True) as conn:
        conn.execute(TRIGGER)
        with conn.transaction(force_rollback=True):
            conn.execute("INSERT INTO shop.orders VALUES (1, 'a@example.com')")
            assert conn.execute("SELECT count(*) FROM howdah.jobs").fetchone() == (1,)
        assert conn.execute("SELECT count(*) FROM howdah.jobs").fetchone() == (0,)
        assert conn.execute("SELECT count(*) FROM howdah.keys").fetchone() == (0,)
        conn.execute("INSERT INTO shop.orders VALUES (1, 'a@example.com'), (2, 'b@example.com')")
    with Client(cloned_dsn) as client:
        claimed = client.claim(limit=9, worker="w")
        assert [job.args for job in claimed] == [
            {"order_id": 1, "to": "a@example.com"},
            {"order_id": 2, "to": "b@example.com"},
        ]
        assert claimed[0].key == "order:1"


@pytest.mark.parametrize(
    ("option", "value", "column", "stored"),
    [
        ("queue", "mail", "queue", "mail"),
        ("priority", -5, "priority", -5),
        ("run_at", datetime(2031, 1, 1, tzinfo=UTC), "run_at", datetime(2031, 1, 1, tzinfo=UTC)),
        ("max_attempts", 3, "max_attempts", 3),
        ("key", "k", "key", "k"),
        ("subject", "s", "subject", "s"),
        ("headers", Jsonb({"trace": "1"}), "headers", {"trace": "1"}),
        ("tags", ["x", "y"], "tags", ["x", "y"]),
        ("args", Jsonb({"n": 1}), "args", {"n": 1}),
    ],
)
def test_each_option_goes_by_its_name(option: str, value: object, column: str, stored: object, one: One) -> None:
    job_id = one(f"SELECT howdah.enqueue('a', {option} => %s) AS id", value)["id"]
    assert one(f"SELECT {column} AS it FROM howdah.jobs WHERE id = %s", job_id)["it"] == stored


def test_durations_are_seconds_from_now(one: One) -> None:
    one("SELECT howdah.enqueue('a', delay => 90.5, expires_in => 3600, key => 'k', key_for => 7)")
    row = one("SELECT state, run_at - created_at AS delay, expires_at - created_at AS expires FROM howdah.jobs")
    assert row == {"state": "scheduled", "delay": timedelta(seconds=90.5), "expires": timedelta(hours=1)}
    assert one("SELECT key_for FROM howdah.keys") == {"key_for": 7.0}


def test_a_key_that_a_live_job_holds_gives_that_job(client: Client, one: One) -> None:
    first = one("SELECT howdah.enqueue('a', key => 'k') AS id")["id"]
    assert one("SELECT howdah.enqueue('a', key => 'k') AS id")["id"] == first
    assert one("SELECT * FROM howdah.enqueue_job('a', key => 'k')") == {"id": first, "created": False}
    assert one("SELECT howdah.enqueue('b', key => 'k') AS id")["id"] != first  # a key belongs to its kind
    client.cancel(first)
    assert one("SELECT howdah.enqueue('a', key => 'k') AS id")["id"] != first


def test_two_transactions_with_one_key_give_one_job(connect: Connect, conn: psycopg.Connection, one: One) -> None:
    second = connect()
    with held(connect) as first:
        mine = first.execute("SELECT howdah.enqueue('a', key => 'k')").fetchone()
        waiting = background(lambda: second.execute("SELECT howdah.enqueue('a', key => 'k')").fetchone())
        wait_until_blocked(conn, second.info.backend_pid)
    assert waiting.result() == mine
    assert one("SELECT count(*) AS n FROM howdah.jobs")["n"] == 1


def test_a_newer_job_of_a_subject_supersedes(one: One) -> None:
    old = one("SELECT howdah.enqueue('a', subject => 's', delay => 60) AS id")["id"]
    new = one("SELECT howdah.enqueue('a', subject => 's') AS id")["id"]
    row = one("SELECT state, superseded_by FROM howdah.all_jobs WHERE id = %s", old)
    assert row == {"state": "superseded", "superseded_by": new}


def test_a_job_without_a_queue_goes_to_that_of_its_kind(conn: psycopg.Connection, one: One) -> None:
    conn.execute("INSERT INTO howdah.kinds (kind, queue) VALUES ('known', 'mail')")
    one("SELECT howdah.enqueue('known'), howdah.enqueue('known', queue => 'other'), howdah.enqueue('stranger')")
    rows = conn.execute("SELECT kind, queue FROM howdah.jobs ORDER BY id").fetchall()
    assert rows == [("known", "mail"), ("known", "other"), ("stranger", "default")]


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("NULL", "kind must be 1 to 200 bytes"),
        ("''", "kind must be 1 to 200 bytes"),
        ("repeat('é', 101)", "kind must be 1 to 200 bytes"),
        ("'a', queue => ''", "queue, key and subject must be 1 to 200 bytes"),
        ("'a', key => repeat('k', 201)", "queue, key and subject must be 1 to 200 bytes"),
        ("'a', subject => ''", "queue, key and subject must be 1 to 200 bytes"),
        ("'a', '[1]'", "args and headers must be JSON objects"),
        ("'a', 'null'", "args and headers must be JSON objects"),
        ("'a', headers => '3'", "args and headers must be JSON objects"),
        ("'a', jsonb_build_object('x', repeat('x', 1048576))", "args are over 1 MiB"),
        ("'a', delay => -1", "from 0 to ten years"),
        ("'a', delay => 'NaN'", "from 0 to ten years"),
        ("'a', expires_in => 'infinity'", "from 0 to ten years"),
        ("'a', key => 'k', key_for => 1e10", "from 0 to ten years"),
        ("'a', key_for => 1", "key_for needs a key"),
        ("'a', delay => 1, run_at => now()", "either delay or run_at"),
        ("'a', run_at => 'infinity'", "run_at must be a moment"),
        ("'a', max_attempts => 0", "max_attempts must be from 1 to 32767"),
        ("'a', priority => 40000", "priority must be from -32768 to 32767"),
    ],
)
def test_what_cannot_be_is_refused_with_22023_and_says_why(
    call: str, problem: str, conn: psycopg.Connection, one: One
) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue, match=problem):
        conn.execute(f"SELECT howdah.enqueue({call})".encode())
    assert one("SELECT (SELECT count(*) FROM howdah.jobs) + (SELECT count(*) FROM howdah.keys) AS n")["n"] == 0
