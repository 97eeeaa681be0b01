"""The roles of `howdah migrate --roles`: each may do what it is for, and gets 42501 for everything else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from howdah import AsyncClient, Client, Context, Discard, Worker, job
from howdah.sql import load, names
from tests.sql.test_every_statement import PARAMS
from tests.support.databases import database
from tests.support.roles import apply, login
from tests.support.servers import Server
from tests.surface.role_operations import (
    ACTS,
    OWNER,
    PRODUCER,
    READER,
    READER_ARGS,
    ROLES,
    WORKER,
    Acting,
)


@pytest.fixture(scope="module")
def admin_dsn(server: Server, template: str) -> Iterator[str]:
    """A database whose roles have been set up, twice."""
    with database(server, template=template) as name:
        dsn = server.dsn_for(name)
        apply(dsn)
        apply(dsn)
        yield dsn


@pytest.fixture(scope="module")
def dsns(admin_dsn: str) -> Iterator[dict[str, str]]:
    """A DSN for each role."""
    with (
        login(admin_dsn, OWNER) as owner,
        login(admin_dsn, PRODUCER) as producer,
        login(admin_dsn, WORKER) as worker,
        login(admin_dsn, READER) as reader,
        login(admin_dsn, READER_ARGS) as reader_args,
    ):
        yield dict(zip(ROLES, (owner, producer, worker, reader, reader_args), strict=True))


@pytest.fixture
def admin(admin_dsn: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("act", ACTS)
def test_who_may_do_what(act: str, role: str, dsns: dict[str, str], admin: psycopg.Connection[Any]) -> None:
    wanted = ACTS[act]
    with Client(dsns[role]) as client, psycopg.connect(dsns[role], autocommit=True) as conn:
        acting = Acting(client, conn, admin)
        if role in wanted.may:
            wanted.do(acting)
        else:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                wanted.do(acting)


ENQUEUEING = {"jobs/enqueue", "jobs/enqueue_guarded", "jobs/enqueue_many", "jobs/ring", "kinds/queues"}
HARMLESS = {
    *("schema/isolation", "schema/session", "schema/version", "bell/echo", "history/has_today"),
    *("jobs/readable", "jobs/state", "kinds/known"),  # what an INSERT returns, and the names of kinds, can be read
    *("bell/arm", "bell/set"),  # refused as they run: see "arm the bell"
}


def test_every_statement_is_a_workers_and_few_are_a_producers(dsns: dict[str, str]) -> None:
    """EXPLAIN looks at the rights, and does nothing."""
    may: dict[str, set[str]] = {}
    for role in (PRODUCER, WORKER, READER):
        with psycopg.connect(dsns[role]) as conn:
            may[role] = {name for name in names() if name != "jobs/load" and _may_run(conn, name)}
    assert may[WORKER] == {*names()} - {"jobs/load"}
    assert {name for name in may[PRODUCER] - HARMLESS if not name.startswith("doctor/")} == ENQUEUEING
    assert may[READER] >= {name for name in names() if name.startswith("doctor/")}


def _may_run(conn: psycopg.Connection[Any], name: str) -> bool:
    try:
        conn.execute(f"EXPLAIN {load(name)}".encode(), PARAMS[name])
    except psycopg.errors.InsufficientPrivilege:
        return False
    finally:
        conn.rollback()
    return True


def test_an_async_producer_enqueues(dsns: dict[str, str]) -> None:
    async def enqueue() -> None:
        async with AsyncClient(dsns[PRODUCER]) as client:
            await client.enqueue("k", {})
            await client.load([client.new("k", {})])

    asyncio.run(enqueue())


def test_every_column_is_granted_to_the_reader_or_held_back(admin: psycopg.Connection[Any]) -> None:
    """A column that comes with a later version has to be put on one side."""
    hidden = admin.execute(
        """
        SELECT c.relname || '.' || a.attname
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relnamespace = 'howdah'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
            AND col_description(c.oid, a.attnum) NOT LIKE 'Private:%%'
            AND NOT has_column_privilege('howdah_reader', c.oid, a.attnum, 'SELECT')
        ORDER BY 1
        """
    ).fetchall()
    documents = {
        f"{table}.{column}"
        for table in ("jobs", "history", "all_jobs")
        for column in ("args", "headers", "progress", "errors", "result")
    } - {"jobs.result"}
    others = {"lease_status.progress", "unknown_jobs.args", "unknown_jobs.errors", "audit.note"}
    assert {name for (name,) in hidden} == documents | others


def test_the_reader_of_args_and_the_worker_read_every_table(admin: psycopg.Connection[Any]) -> None:
    for role in (READER_ARGS, WORKER):
        unread = admin.execute(
            """
            SELECT relname FROM pg_class
            WHERE relnamespace = 'howdah'::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition
                AND NOT has_table_privilege(%s, oid, 'SELECT')
            """,
            [role],
        ).fetchall()
        assert unread == []


def test_nobody_but_the_owner_owns_and_nobody_logs_in(admin: psycopg.Connection[Any]) -> None:
    strangers = admin.execute(
        """
        SELECT relname FROM pg_class WHERE relnamespace = 'howdah'::regnamespace AND relowner <> 'howdah_owner'::regrole
        UNION ALL
        SELECT proname FROM pg_proc WHERE pronamespace = 'howdah'::regnamespace AND proowner <> 'howdah_owner'::regrole
        """
    ).fetchall()
    assert strangers == []
    able = admin.execute(
        """
        SELECT rolname FROM pg_roles
        WHERE rolname = ANY (%s) AND (rolcanlogin OR rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls)
        """,
        [list(ROLES)],
    ).fetchall()
    assert able == []


def test_what_is_no_longer_granted_is_taken_back(admin_dsn: str, admin: psycopg.Connection[Any]) -> None:
    admin.execute(
        "GRANT TRUNCATE ON howdah.jobs TO howdah_producer; GRANT SELECT (args) ON howdah.jobs TO howdah_reader"
    )
    apply(admin_dsn)
    found = admin.execute(
        """
        SELECT has_table_privilege('howdah_producer', 'howdah.jobs', 'TRUNCATE'),
            has_column_privilege('howdah_reader', 'howdah.jobs', 'args', 'SELECT')
        """
    ).fetchone()
    assert found == (False, False)


@job
def echo(text: str) -> str:
    return text


@job
def beget(ctx: Context, n: int) -> None:
    with ctx.transaction() as connection:
        echo.options(key=f"echo {n}").enqueue(connection, text="from inside")


@job
def land(job_id: int) -> None:
    """The landing of what was discarded."""


@job(on_crash="unknown", on_discard=land)
async def refuse() -> None:
    raise Discard("no")


def test_a_whole_worker_runs_as_howdah_worker(
    dsns: dict[str, str], admin: psycopg.Connection[Any], caplog: pytest.LogCaptureFixture
) -> None:
    admin.execute("SELECT howdah.ensure_partition('2001-01-01')")  # for the pruner
    with Client(dsns[PRODUCER]) as client:
        ids = [client.enqueue("echo", {"text": "x"}, queue="whole").id]
        ids += [
            client.enqueue("beget", {"n": ids[0]}, queue="whole").id,
            client.enqueue("refuse", {}, queue="whole").id,
        ]
    worker = Worker(dsns[WORKER], [echo, beget, land, refuse], queues={"whole": 2, "default": 2}, poll=0.1)

    async def work() -> None:
        running = asyncio.create_task(worker.run_async())
        while _unfinished(admin, ids):
            assert not running.done(), running.exception()
            await asyncio.sleep(0.02)
        worker.stop()
        await running

    with caplog.at_level(logging.INFO, "howdah"):
        asyncio.run(asyncio.wait_for(work(), 20))
        Worker(dsns[WORKER], [echo], queues={"whole": 2}).drain()
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert "permission denied" not in caplog.text
    assert admin.execute("SELECT to_regclass('howdah.history_20010101')").fetchone() == (None,)


def _unfinished(admin: psycopg.Connection[Any], ids: list[int]) -> bool:
    return admin.execute("SELECT FROM howdah.jobs WHERE id = ANY (%s)", [ids]).fetchone() is not None


SHADOWS = """
CREATE FUNCTION evil.to_char(date, text) RETURNS text LANGUAGE sql AS $$SELECT 'mine'$$;
CREATE FUNCTION evil.to_regclass(text) RETURNS regclass LANGUAGE sql AS 'SELECT (1 / 0)::oid::regclass';
CREATE FUNCTION evil.is_before(date, date) RETURNS boolean LANGUAGE sql AS 'SELECT 1 / 0 = 0';
CREATE OPERATOR evil.< (LEFTARG = date, RIGHTARG = date, FUNCTION = evil.is_before);
CREATE FUNCTION evil.jsonb_array_length(jsonb) RETURNS integer LANGUAGE sql AS 'SELECT 1 / 0';
CREATE TEMPORARY TABLE pg_class (oid oid, relname name);
CREATE TEMPORARY TABLE jobs (id bigint)
"""


@pytest.mark.parametrize("role", [PRODUCER, WORKER])
def test_a_hostile_search_path_changes_nothing(role: str, dsns: dict[str, str], admin: psycopg.Connection[Any]) -> None:
    """Functions with their owner's rights do what they do; test_enqueue_rights has more shadows."""
    with psycopg.connect(dsns[role], autocommit=True) as conn:
        admin.execute("CREATE SCHEMA evil; GRANT ALL ON SCHEMA evil TO PUBLIC")
        try:
            for statement in SHADOWS.strip().split(";\n"):
                conn.execute(statement.encode())
            conn.execute("SET search_path = evil, pg_temp, pg_catalog")
            conn.execute("SELECT howdah.enqueue('k', key => gen_random_uuid()::text, subject => 's')")
            conn.execute('SELECT * FROM howdah.enqueue_jobs(\'[{"kind": "k", "subject": "s"}]\')')
            if role == WORKER:
                conn.execute("SELECT howdah.ensure_partition('2002-01-01')")
                assert conn.execute("SELECT howdah.prune_history(86400)").fetchone() == ("dropped history_20020101",)
        finally:
            admin.execute("DROP SCHEMA evil CASCADE")


def test_partitions_made_by_a_worker_serve_everybody(dsns: dict[str, str], admin: psycopg.Connection[Any]) -> None:
    with psycopg.connect(dsns[WORKER], autocommit=True) as conn:
        conn.execute("SELECT howdah.ensure_partition('2036-01-01')")
    assert admin.execute(
        "SELECT relowner::regrole::text FROM pg_class WHERE relname = 'history_20360101'"
    ).fetchone() == (OWNER,)
