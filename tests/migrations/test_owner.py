"""No superuser is needed: a role that owns the database, and may do nothing else, migrates it and uses it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from howdah import Client, Fail, InvalidTransition
from howdah.migrations import migrate
from tests.migrations.catalogue import catalogue
from tests.migrations.doors import alembic
from tests.support.servers import Server


@pytest.fixture
def owner_dsn(server: Server, fresh_dsn: str) -> Iterator[str]:
    name, password = f"owner_{secrets.token_hex(4)}", secrets.token_hex(8)
    database = sql.Identifier(str(conninfo_to_dict(fresh_dsn)["dbname"]))
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        role = sql.Identifier(name)
        options = sql.SQL("LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD")
        admin.execute(sql.SQL("CREATE ROLE {} {} {}").format(role, options, password))
        admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(database, role))
        admin.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
        yield make_conninfo(fresh_dsn, user=name, password=password)
        admin.execute(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(database))
        with psycopg.connect(fresh_dsn, autocommit=True) as inside:
            inside.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(role))
        admin.execute(sql.SQL("DROP ROLE {}").format(role))


def test_the_owner_migrates_by_the_runner(owner_dsn: str, cloned_dsn: str) -> None:
    assert migrate(owner_dsn) == [1]
    assert len(catalogue(owner_dsn)) == len(catalogue(cloned_dsn))


def test_the_owner_migrates_by_alembic(owner_dsn: str) -> None:
    alembic("upgrade", "head", dsn=owner_dsn)
    alembic("check", dsn=owner_dsn)
    alembic("downgrade", "base", dsn=owner_dsn)
    alembic("upgrade", "head", dsn=owner_dsn)
    assert migrate(owner_dsn) == []


def test_the_owner_can_do_everything_that_a_client_can(owner_dsn: str) -> None:
    with Client(owner_dsn) as client:
        client.migrate()
        jobs = [client.new("a", {"n": n}) for n in range(6)]
        assert len(client.enqueue_many(jobs)) == 6
        assert client.load(jobs) == 6
        assert client.enqueue("a", {}, key="k").created
        assert client.enqueue("a", {}, key="other", subject="s").created
        assert not client.enqueue("a", {}, key="k").created
        done, failed, snoozed, given_back, started, batched = (
            job.lease for job in client.claim(limit=6, worker="w", lease=60)
        )
        client.extend(client.start(started), 120)
        assert client.complete(done, {"ok": True}) == "completed"
        assert client.fail(failed, "no") == "scheduled"
        assert client.snooze(snoozed, 60) == "scheduled"
        assert client.release(given_back, "stopping") == "available"
        assert client.settle_many([(batched, Fail("no", permanent=True))]) == []
        assert client.get(done.job_id).result == {"ok": True}
        assert client.requeue(done.job_id).state == "available"
        assert client.cancel(done.job_id).state == "cancelled"
        assert client.wait(done.job_id, 1).state == "cancelled"
        client.pause("default")
        client.resume("default")
        client.reap()
        client.sweep()
        with pytest.raises(InvalidTransition):
            client.resolve(done.job_id, "completed", "it was done")


def test_the_owner_prunes_and_makes_partitions(owner_dsn: str) -> None:
    migrate(owner_dsn)
    with psycopg.connect(owner_dsn, autocommit=True) as conn:
        conn.execute("SELECT howdah.ensure_partition('2020-01-01')")
        assert conn.execute("SELECT howdah.prune_history(86400)").fetchone() == ("dropped history_20200101",)
