"""History's days: made ahead, emptied and dropped when they are past, and never at the cost of a completion."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from howdah import Client
from tests.support.held import Connect, background, held, together, wait_until_blocked

One = Callable[..., dict[str, Any]]
DAY = 86_400
DAYS = "SELECT relname FROM pg_class WHERE relname ~ '^history_[0-9]{8}$' AND relispartition ORDER BY 1"


@pytest.fixture
def dsn(cloned_dsn: str) -> str:
    return cloned_dsn


@pytest.fixture
def june(conn: psycopg.Connection) -> None:
    """It is noon of June 15th, 2030, and there are partitions for the 10th to the 16th, each with a job in it."""
    conn.execute(f"ALTER DATABASE {conn.info.dbname} SET lock_timeout = '3s'".encode())  # rather than hang
    conn.execute("SET lock_timeout = '3s'")
    for (leaf,) in conn.execute(DAYS).fetchall():
        conn.execute(f"DROP TABLE howdah.{leaf}".encode())
    _clock(conn, "2030-06-15")
    conn.execute("""
        SELECT howdah.ensure_partition(date '2030-06-10' + n) FROM generate_series(0, 6) n;
        INSERT INTO howdah.history (id, run_at, created_at, finished_at, attempt, excused, max_attempts, crashes,
            priority, state, kind, queue, args, headers, tags, errors)
        SELECT n, d, d, d, 0, 0, 1, 0, 0, 'completed', 'a', 'q', '{}', '{}', '{}', '[]'
        FROM generate_series(10, 16) n, LATERAL (SELECT format('2030-06-%s 00:30:00+00', n)::timestamptz AS d) x
    """)


def test_retention_empties_the_oldest_day_and_then_drops_it(conn: psycopg.Connection, june: None, one: One) -> None:
    steps = [one("SELECT howdah.prune_history(%s) AS did", 3.0 * DAY)["did"] for _ in range(5)]
    assert steps == [
        "emptied history_20300610",
        "dropped history_20300610",
        "emptied history_20300611",
        "dropped history_20300611",
        None,
    ]


@pytest.mark.parametrize(("retention", "kept"), [(3 * DAY, 12), (2.5 * DAY, 13), (2.51 * DAY, 12), (DAY, 14), (0, 14)])
def test_a_day_of_which_a_part_is_kept_stays(retention: float, kept: int, conn: psycopg.Connection, june: None) -> None:
    while conn.execute("SELECT howdah.prune_history(%s)", [retention]).fetchone() != (None,):
        pass
    assert conn.execute("SELECT id FROM howdah.history ORDER BY id").fetchall() == [(n,) for n in range(kept, 17)]
    assert conn.execute(DAYS).fetchall() == [(f"history_203006{n}",) for n in range(kept, 17)]


def test_retention_of_null_prunes_nothing(conn: psycopg.Connection, june: None) -> None:
    assert conn.execute("SELECT howdah.prune_history(NULL)").fetchone() == (None,)
    assert conn.execute("SELECT count(*) FROM howdah.history").fetchone() == (7,)


def test_a_clients_sweep_keeps_thirty_days(client: Client, conn: psycopg.Connection, june: None) -> None:
    _clock(conn, "2030-07-13")
    assert client.sweep()["pruned"] == 6  # three days, each emptied and dropped
    assert conn.execute("SELECT min(id) FROM howdah.history").fetchone() == (13,)


def test_a_reader_makes_retention_give_up_soon(conn: psycopg.Connection, june: None, connect: Connect) -> None:
    with held(connect) as reader:
        reader.execute("SELECT count(*) FROM howdah.all_jobs")
        began = time.monotonic()
        with pytest.raises(psycopg.errors.LockNotAvailable):
            conn.execute("SELECT howdah.prune_history(86400)")
        assert 0.09 < time.monotonic() - began < 2
    assert conn.execute("SELECT howdah.prune_history(86400)").fetchone() == ("emptied history_20300610",)


def test_a_sweep_beside_a_reader_does_the_rest_of_its_work(
    client: Client, conn: psycopg.Connection, june: None, connect: Connect
) -> None:
    _clock(conn, "2030-07-13")
    client.enqueue("a", {}, delay=60)
    conn.execute("UPDATE howdah.jobs SET run_at = run_at - interval '2 minutes'")
    with held(connect) as reader:
        reader.execute("SELECT count(*) FROM howdah.all_jobs")
        counts = client.sweep()
    assert (counts["promoted"], counts["pruned"]) == (1, 0)
    assert client.sweep()["pruned"] == 6


def test_a_completion_does_not_wait_for_retention_beside_a_reader(
    client: Client, conn: psycopg.Connection, june: None, connect: Connect
) -> None:
    client.enqueue("a", {})
    lease = client.claim(worker="w")[0].lease
    pruner = connect()
    with held(connect) as reader:
        reader.execute("SELECT count(*) FROM howdah.all_jobs")
        pruning = background(lambda: pruner.execute("SELECT howdah.prune_history(86400)"))
        assert client.complete(lease) == "completed"
        assert isinstance(pruning.error(), psycopg.errors.LockNotAvailable)


def test_a_partition_is_made_beside_an_open_reader(conn: psycopg.Connection, june: None, connect: Connect) -> None:
    with held(connect) as reader:
        reader.execute("SELECT count(*) FROM howdah.all_jobs")
        conn.execute("SELECT howdah.ensure_partition('2030-06-17')")
    assert conn.execute("SELECT to_regclass('howdah.history_20300617') IS NOT NULL").fetchone() == (True,)


def test_a_partition_is_made_once_by_many_at_once(june: None, conn: psycopg.Connection, connect: Connect) -> None:
    connections = [connect() for _ in range(6)]
    made = together(
        *[lambda c=c: c.execute("SELECT howdah.ensure_partition('2030-06-18')").fetchone() for c in connections]  # type: ignore[misc]
    )
    assert made == [("",)] * 6
    assert ("history_20300618",) in conn.execute(DAYS).fetchall()


def test_a_waiting_maker_of_a_partition_finds_it_made(june: None, conn: psycopg.Connection, connect: Connect) -> None:
    second = connect()
    with held(connect) as first:
        first.execute("SELECT howdah.ensure_partition('2030-06-19')")
        waiting = background(lambda: second.execute("SELECT howdah.ensure_partition('2030-06-19')"))
        wait_until_blocked(conn, second.info.backend_pid)
    waiting.result()


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "America/Los_Angeles"])
def test_a_day_is_a_day_of_utc_in_every_time_zone(zone: str, conn: psycopg.Connection) -> None:
    conn.execute("SELECT set_config('TimeZone', %s, false)", [zone])
    conn.execute("SELECT howdah.ensure_partition('2031-03-04'), howdah.ensure_partition('2031-03-05')")
    conn.execute("SET TimeZone = 'UTC'")
    bounds = conn.execute("""
        SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname IN ('history_20310304', 'history_20310305')
        ORDER BY relname
    """).fetchall()
    assert bounds == [
        ("FOR VALUES FROM ('2031-03-04 00:00:00+00') TO ('2031-03-05 00:00:00+00')",),
        ("FOR VALUES FROM ('2031-03-05 00:00:00+00') TO ('2031-03-06 00:00:00+00')",),
    ]


def test_a_sweep_makes_the_days_from_yesterday_to_14_ahead(
    client: Client, conn: psycopg.Connection, june: None
) -> None:
    client.sweep()
    days = [leaf for (leaf,) in conn.execute(DAYS).fetchall()]
    assert days[0] == "history_20300610"
    assert days[-1] == "history_20300629"
    assert len(days) == 20


def test_a_completion_that_meets_no_partition_makes_it(client: Client, conn: psycopg.Connection, june: None) -> None:
    client.enqueue("a", {})
    lease = client.claim(worker="w")[0].lease
    conn.execute("DROP TABLE howdah.history_20300615")
    assert client.complete(lease) == "completed"
    assert client.get(lease.job_id).state == "completed"


def test_a_completion_in_the_callers_transaction_meets_its_partition(
    client: Client, conn: psycopg.Connection, june: None, connect: Connect
) -> None:
    client.enqueue("a", {})
    lease = client.claim(worker="w")[0].lease
    conn.execute("DROP TABLE howdah.history_20300615")
    mine = connect(autocommit=False)
    assert client.complete(lease, on=mine) == "completed"
    mine.commit()
    assert client.get(lease.job_id).state == "completed"


def _clock(conn: psycopg.Connection, day: str) -> None:
    conn.execute(
        f"CREATE OR REPLACE FUNCTION howdah.clock() RETURNS timestamptz LANGUAGE sql"
        f" AS $$SELECT '{day} 12:00:00+00'::timestamptz$$".encode()
    )
