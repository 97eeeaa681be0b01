"""Who may call `howdah.enqueue`, and that nobody can make it run something else."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

PRIVATE = [
    "howdah.enqueue_jobs('[]')",
    "howdah.enqueue_job('a')",
    "howdah.take_key('a', 'k', 1, NULL)",
    "howdah.supersede_older('{1}')",
    "howdah.ensure_partition('2031-01-01')",
    "howdah.prune_history(86400)",
]


@pytest.fixture
def dsn(cloned_dsn: str) -> str:
    return cloned_dsn


@pytest.fixture
def stranger(conn: psycopg.Connection) -> Iterator[str]:
    """A role that may look into the schema, and nothing else."""
    name = f"stranger_{secrets.token_hex(4)}"
    role = sql.Identifier(name)
    conn.execute(sql.SQL("CREATE ROLE {}; GRANT USAGE ON SCHEMA howdah TO {}").format(role, role))
    yield name
    conn.execute("RESET ROLE")
    conn.execute(sql.SQL("DROP OWNED BY {} CASCADE; DROP ROLE {}").format(role, role))


@pytest.mark.parametrize("call", ["howdah.enqueue('a')", *PRIVATE])
def test_a_stranger_may_not(call: str, conn: psycopg.Connection, stranger: str) -> None:
    _become(conn, stranger)
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute(f"SELECT {call}".encode())


def test_a_producer_needs_no_more_than_this_one_function(conn: psycopg.Connection, stranger: str) -> None:
    conn.execute(sql.SQL("GRANT EXECUTE ON FUNCTION howdah.enqueue TO {}").format(sql.Identifier(stranger)))
    _become(conn, stranger)
    conn.execute("SELECT howdah.enqueue('a', key => 'k', subject => 's')")
    conn.execute("SELECT howdah.enqueue('a', key => 'other', subject => 's')")
    for call in PRIVATE:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute(f"SELECT {call}".encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        conn.execute("SELECT count(*) FROM howdah.jobs")
    conn.execute("RESET ROLE")
    assert conn.execute("SELECT state FROM howdah.all_jobs ORDER BY id").fetchall() == [("superseded",), ("available",)]


SHADOWS = """
CREATE TABLE {place}.jobs (id bigint, kind text);
CREATE TABLE {place}.keys (kind text, key text, job_id bigint);
CREATE FUNCTION {place}.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$SELECT '2000-01-01'::timestamptz$$;
CREATE FUNCTION {place}.nextval(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT -1::bigint';
CREATE FUNCTION {place}.octet_length(text) RETURNS integer LANGUAGE sql AS 'SELECT 1 / 0';
CREATE FUNCTION {place}.now_is_mine(timestamptz, timestamptz) RETURNS boolean LANGUAGE sql AS 'SELECT 1 / 0 = 0';
CREATE OPERATOR {place}.> (LEFTARG = timestamptz, RIGHTARG = timestamptz, FUNCTION = {place}.now_is_mine);
"""


@pytest.mark.parametrize("place", ["evil", "pg_temp"])
def test_shadow_objects_change_nothing(place: str, conn: psycopg.Connection) -> None:
    conn.execute("CREATE SCHEMA evil")
    shadows = SHADOWS.format(place=place).strip().split(";\n")
    for statement in shadows:
        conn.execute(statement.encode())
    conn.execute(f"SET search_path = {place}, pg_catalog, howdah".encode())
    with pytest.raises(psycopg.errors.DivisionByZero):  # the shadow is there
        conn.execute(f"SELECT {place}.octet_length('a')".encode())
    conn.execute("SELECT howdah.enqueue('a', delay => 60, key => 'k', subject => 's')")
    conn.execute("SELECT howdah.enqueue('a', key => 'k2', subject => 's')")
    conn.execute("RESET search_path")
    seen = conn.execute("""
        SELECT state, id > 0, created_at > pg_catalog.now() - interval '1 hour' FROM howdah.all_jobs ORDER BY id
    """)
    assert seen.fetchall() == [("superseded", True, True), ("available", True, True)]
    assert conn.execute(f"SELECT count(*) FROM {place}.jobs".encode()).fetchone() == (0,)


def test_every_function_that_runs_with_the_owners_rights_pins_its_search_path(conn: psycopg.Connection) -> None:
    found = conn.execute("""
        SELECT proname, proconfig FROM pg_proc WHERE pronamespace = 'howdah'::regnamespace AND prosecdef ORDER BY 1
    """).fetchall()
    assert [name for name, _ in found] == [
        "enqueue",
        "enqueue_job",
        "enqueue_jobs",
        "ensure_partition",
        "prune_history",
    ]
    assert [name for name, settings in found if settings[0] != "search_path=pg_catalog, pg_temp"] == []


def _become(conn: psycopg.Connection, role: str) -> None:
    conn.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
