"""A start whose commit a synchronous standby did not confirm is no start."""

from __future__ import annotations

import psycopg
import pytest

from howdah import Client, LeaseLost, Unreachable
from howdah.embedded import EmbeddedServer
from tests.support.held import background, wait_until

WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


def test_a_start_whose_commit_is_not_confirmed_must_not_begin() -> None:
    # All but the start commit without waiting for anybody: synchronous_commit is off on a server that is not durable.
    waiting = {"synchronous_standby_names": "absent"}
    with EmbeddedServer(durable=False, settings=waiting) as server, Client(server.dsn) as client:
        client.migrate()
        client.enqueue("x", {}, max_attempts=1)
        (job,) = client.claim(worker="w")
        with psycopg.connect(server.dsn, autocommit=True) as conn:
            starting = background(lambda: client.start(job.lease))
            pid = wait_until(lambda: conn.execute(WAITING).fetchone(), what="the start to wait for the standby")
            conn.execute("SELECT pg_cancel_backend(%s)", pid)
            assert isinstance(starting.error(), Unreachable)
            with pytest.raises(LeaseLost):  # it was written all the same, so nobody else may begin either
                client.start(job.lease)
