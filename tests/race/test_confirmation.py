"""A start whose commit a synchronous standby did not confirm is no start."""

from __future__ import annotations

import psycopg
import pytest

from howdah import Client, LeaseLost, Unreachable
from howdah.embedded import EmbeddedServer
from tests.support.held import background, wait_until

WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def test_a_start_whose_commit_is_not_confirmed_must_not_begin() -> None:
    with EmbeddedServer(durable=False) as server, Client(server.dsn) as client:
        client.migrate()
        client.enqueue("x", {}, max_attempts=1)
        (job,) = client.claim(worker="w")
        with psycopg.connect(server.dsn, autocommit=True) as conn:
            conn.execute("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
            conn.execute("SELECT pg_reload_conf()")
            wait_until(lambda: conn.execute("SHOW synchronous_standby_names").fetchone() == ("absent",))
            starting = background(lambda: client.start(job.lease))
            pid = wait_until(lambda: conn.execute(WAITING).fetchone(), what="the start to wait for the standby")
            conn.execute("SELECT pg_cancel_backend(%s)", pid)
            assert isinstance(starting.error(), Unreachable)
            conn.execute("ALTER SYSTEM RESET synchronous_standby_names")
            conn.execute("SELECT pg_reload_conf()")
            with pytest.raises(LeaseLost):  # it was written all the same, so nobody else may begin either
                client.start(job.lease)
