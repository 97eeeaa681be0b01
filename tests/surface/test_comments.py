from __future__ import annotations

import psycopg

_COLUMNS = """
SELECT format('%s.%s', c.relname, a.attname), col_description(c.oid, a.attnum)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'howdah'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
"""
_THINGS = """
SELECT relname, obj_description(oid, 'pg_class') FROM pg_class
WHERE relnamespace = 'howdah'::regnamespace AND relkind IN ('r', 'p', 'v', 'S') AND NOT relispartition
    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = pg_class.oid AND d.deptype = 'i' AND relkind = 'S')
UNION ALL
SELECT oid::regprocedure::text, obj_description(oid, 'pg_proc') FROM pg_proc WHERE pronamespace = 'howdah'::regnamespace
"""


def test_every_column_of_a_table_or_view_has_a_comment(conn: psycopg.Connection) -> None:
    columns = dict(conn.execute(_COLUMNS).fetchall())
    assert len(columns) > 150
    assert [name for name, comment in columns.items() if not comment] == []


def test_every_table_view_sequence_and_function_has_a_comment(conn: psycopg.Connection) -> None:
    things = dict(conn.execute(_THINGS).fetchall())
    assert len(things) > 25
    assert [name for name, comment in things.items() if not comment] == []


def test_what_is_outside_of_the_contract_is_marked_private(conn: psycopg.Connection) -> None:
    columns = dict(conn.execute(_COLUMNS).fetchall())
    private = {name for name, comment in columns.items() if comment.startswith("Private:")}
    assert {"jobs.position", "jobs.claim_no", "jobs.origin_id", "jobs.needs_start", "history.claim_no"} <= private
    assert not {name for name in private if name.startswith("all_jobs.")}


def test_every_column_of_seconds_says_so_and_is_double_precision(conn: psycopg.Connection) -> None:
    types = dict(
        conn.execute("""
            SELECT format('%s.%s', table_name, column_name), data_type FROM information_schema.columns
            WHERE table_schema = 'howdah'
        """).fetchall()
    )
    for name, comment in conn.execute(_COLUMNS).fetchall():
        if "in seconds" in comment or name.endswith("_seconds"):
            assert types[name] == "double precision", name
            assert "seconds" in comment, name
        if name.endswith("_at"):
            assert types[name] == "timestamp with time zone", name
