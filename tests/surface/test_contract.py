"""The SQL contract: dashboards rely on these columns. New ones come at the end; none is renamed, retyped or dropped."""

from __future__ import annotations

import psycopg
import pytest

VIEWS = {
    "all_jobs": """
        id bigint
        kind text
        queue text
        state text
        priority smallint
        attempt integer
        excused integer
        max_attempts integer
        run_at timestamptz
        created_at timestamptz
        started_at timestamptz
        expires_at timestamptz
        claimed_at timestamptz
        lease_expires_at timestamptz
        worker text
        crashes integer
        cancel_requested_at timestamptz
        key text
        subject text
        superseded_by bigint
        settled_by text
        settled_event text
        settled_attempt integer
        lane text
        args jsonb
        headers jsonb
        tags text[]
        progress jsonb
        errors jsonb
        finished_at timestamptz
        result jsonb
    """,
    "queue_stats": """
        queue text
        paused boolean
        paused_at timestamptz
        available bigint
        scheduled bigint
        retrying bigint
        blocked bigint
        running bigint
        unknown bigint
        leases_expired bigint
        oldest_available_age_seconds double
        oldest_running_age_seconds double
        next_run_at timestamptz
        workers bigint
        slots bigint
        utilization double
    """,
    "worker_status": """
        worker text
        hostname text
        pid integer
        version text
        queues jsonb
        kinds text[]
        slots bigint
        running integer
        stuck integer
        started_at timestamptz
        heartbeat_at timestamptz
        heartbeat_age_seconds double
        status text
    """,
    "lease_status": """
        job_id bigint
        kind text
        queue text
        worker text
        attempt integer
        claimed_at timestamptz
        started_at timestamptz
        lease_expires_at timestamptz
        lease_remaining_seconds double
        expired boolean
        cancel_requested boolean
        progress jsonb
    """,
    "unknown_jobs": """
        id bigint
        kind text
        queue text
        attempt integer
        worker text
        started_at timestamptz
        lease_expires_at timestamptz
        unknown_for_seconds double
        key text
        subject text
        args jsonb
        errors jsonb
    """,
}
PUBLIC = VIEWS["all_jobs"].split()[::2]

ENQUEUE = (
    "kind text, args jsonb DEFAULT '{}'::jsonb, queue text DEFAULT NULL::text, priority integer DEFAULT 0,"
    " delay double precision DEFAULT NULL::double precision,"
    " run_at timestamp with time zone DEFAULT NULL::timestamp with time zone,"
    " expires_in double precision DEFAULT NULL::double precision, max_attempts integer DEFAULT NULL::integer,"
    " key text DEFAULT NULL::text, key_for double precision DEFAULT NULL::double precision,"
    " subject text DEFAULT NULL::text, headers jsonb DEFAULT '{}'::jsonb, tags text[] DEFAULT '{}'::text[]"
)


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_begins_with_the_columns_of_the_contract(view: str, conn: psycopg.Connection) -> None:
    promised = [line.strip().rsplit(" ", 1) for line in VIEWS[view].strip().splitlines()]
    assert _columns(conn, view)[: len(promised)] == [tuple(column) for column in promised]


@pytest.mark.parametrize("table", ["jobs", "history"])
def test_the_tables_have_the_public_columns_of_all_jobs(table: str, conn: psycopg.Connection) -> None:
    columns, view = dict(_columns(conn, table)), dict(_columns(conn, "all_jobs"))
    own = [name for name in PUBLIC if table == "history" or name not in ("finished_at", "result")]
    assert {name: columns[name] for name in own} == {name: view[name] for name in own}


def test_enqueue_takes_these_parameters_in_this_order(conn: psycopg.Connection) -> None:
    row = conn.execute("SELECT pg_get_function_arguments('howdah.enqueue'::regproc)").fetchone()
    assert row == (ENQUEUE,)


def _columns(conn: psycopg.Connection, relation: str) -> list[tuple[str, str]]:
    found = conn.execute(
        """
        SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
        WHERE attrelid = format('howdah.%%I', %s::text)::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
        """,
        [relation],
    ).fetchall()
    short = {"timestamp with time zone": "timestamptz", "double precision": "double"}
    return [(name, short.get(kind, kind)) for name, kind in found]
