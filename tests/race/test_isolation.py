"""Whatever level a role's transactions have by default, Howdah's own statements run at READ COMMITTED."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import Connection, IsolationLevel

from howdah import Client
from howdah.model.job import JobState
from howdah.store import claiming
from tests.support.held import background, together, wait_until
from tests.support.jobs import expire_lease, run


@pytest.fixture(params=["serializable", "repeatable read"])
def strict(request: pytest.FixtureRequest, cloned_dsn: str) -> str:
    """The DSN of a database whose transactions are strict unless they say otherwise."""
    with psycopg.connect(cloned_dsn, autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {conn.info.dbname} SET default_transaction_isolation = '{request.param}'")
    return cloned_dsn


@pytest.fixture
def client(strict: str) -> Iterator[Client]:
    with Client(strict) as client:
        yield client


@pytest.fixture
def conn(strict: str) -> Iterator[Connection[Any]]:
    with psycopg.connect(strict, autocommit=True) as conn:
        yield conn


def test_every_operation_of_a_client_works(client: Client, conn: Connection[Any]) -> None:
    client.enqueue("k", {}, key="K", subject="s")
    many = client.enqueue_many([client.new("k", {}, subject="s"), client.new("k", {}), client.new("k", {})])
    assert client.load([client.new("k", {})]) == 1
    first, second, third, fourth = client.claim(limit=10, worker="w")
    assert first.id == many[0].id
    assert client.extend(client.start(first.lease), 7200).expires_at > first.lease.expires_at
    assert client.complete(first.lease) is JobState.COMPLETED
    assert client.fail(second.lease, "no") is JobState.SCHEDULED
    assert client.release(third.lease, "later") is JobState.AVAILABLE
    expire_lease(conn, fourth.id)
    assert client.reap().retried == 1
    assert client.requeue(first.id).state is JobState.AVAILABLE
    assert client.cancel(second.id).state is JobState.CANCELLED
    assert client.claim_job(third.id, worker="w").attempt == 2
    client.sweep()


def test_six_claimers_at_once_get_every_job_once_and_no_40001(client: Client) -> None:
    client.load([client.new("k", {}) for _ in range(300)])

    def claim_all() -> list[int]:
        mine: list[int] = []
        while jobs := client.claim(limit=5, worker="w"):
            mine += [job.id for job in jobs]
            for job in jobs:
                client.extend(job.lease, 120)
                client.complete(job.lease)
        return mine

    answers = together(*[claim_all] * 6)
    assert not [answer for answer in answers if isinstance(answer, BaseException)]
    assert len({job for mine in answers for job in mine}) == sum(map(len, answers)) == 300


def test_a_completion_that_waited_for_an_extension_succeeds(client: Client, conn: Connection[Any], strict: str) -> None:
    client.enqueue("k", {}, subject="s")
    (job,) = client.claim(worker="w")
    with psycopg.connect(strict) as keeper:
        run(keeper, claiming.extend(job.lease, 7200))
        waiting = background(lambda: client.complete(job.lease))
        blocked = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        wait_until(lambda: conn.execute(blocked).fetchone())
        keeper.commit()
    assert waiting.result() is JobState.COMPLETED


def test_a_users_transaction_at_read_committed_completes_after_an_extension(client: Client, strict: str) -> None:
    client.enqueue("k", {})
    (job,) = client.claim(worker="w")
    with psycopg.connect(strict) as user:
        user.isolation_level = IsolationLevel.READ_COMMITTED
        user.execute("CREATE TABLE public.written AS SELECT 1 AS n")
        client.extend(job.lease, 7200)
        assert client.complete(job.lease, on=user) is JobState.COMPLETED
    assert client.get(job.id).state is JobState.COMPLETED


def test_a_users_transaction_keeps_its_own_level(client: Client, strict: str) -> None:
    with psycopg.connect(strict) as user:
        level = user.execute("SHOW transaction_isolation").fetchone()
        client.enqueue("k", {}, on=user, subject="s")
        assert user.execute("SHOW transaction_isolation").fetchone() == level
        assert user.isolation_level is None
