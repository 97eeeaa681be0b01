"""Whatever makes a job available notifies while somebody is idle, and only then."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest

from howdah import Client, Discard, Job, Lease, job
from howdah.store.drivers import on_psycopg, run
from howdah.store.workers import register_kinds
from tests.support.held import Connect


@job(kind="mourn", queue="landings")
def mourn() -> None: ...


@job(kind="risky", on_discard=mourn)
def risky() -> None: ...


class Ear:
    """Listens on the channel; `heard` gives the queues notified since it was last asked."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._queues: list[str] = []
        connection.add_notify_handler(lambda notification: self._queues.append(notification.payload))
        connection.execute("LISTEN howdah")

    def arm(self, value: int) -> None:
        self._connection.execute("SELECT setval('howdah.bell', %s)", [value])

    def heard(self) -> list[str]:
        for _ in range(2):  # a notification arrives before the answer to the second question at the latest
            self._connection.execute("SELECT 1")
        found, self._queues = self._queues, []
        return sorted(found)


@pytest.fixture
def ear(connect: Connect) -> Iterator[Ear]:
    ear = Ear(connect())
    ear.arm(1)
    yield ear
    ear.arm(0)


ENQUEUES: dict[str, Callable[[Client], object]] = {
    "enqueue": lambda client: client.enqueue("a", {}, queue="q"),
    "enqueue with a key": lambda client: client.enqueue("a", {}, queue="q", key="k"),
    "enqueue_many": lambda client: client.enqueue_many([client.new("a", {}, queue="q")] * 3),
    "enqueue_many with keys": lambda client: client.enqueue_many(
        [client.new("a", {}, queue="q", key=key) for key in ("k", "l")]
    ),
    "load": lambda client: client.load([client.new("a", {}, queue="q")] * 3),
}


@pytest.mark.parametrize("enqueue", ENQUEUES.values(), ids=ENQUEUES.keys())
def test_an_enqueue_notifies_once_while_the_bell_is_armed(
    enqueue: Callable[[Client], object], client: Client, ear: Ear
) -> None:
    enqueue(client)
    assert ear.heard() == ["q"]


@pytest.mark.parametrize("enqueue", ENQUEUES.values(), ids=ENQUEUES.keys())
def test_nothing_notifies_while_nobody_is_idle(enqueue: Callable[[Client], object], client: Client, ear: Ear) -> None:
    ear.arm(0)
    enqueue(client)
    assert ear.heard() == []


def test_the_sql_function_notifies(conn: psycopg.Connection, ear: Ear) -> None:
    conn.execute("SELECT howdah.enqueue('a', queue => 'q')")
    assert ear.heard() == ["q"]


def test_a_batch_notifies_each_of_its_queues_once(client: Client, ear: Ear) -> None:
    client.enqueue_many([client.new("a", {}, queue=queue) for queue in ("x", "y", "x")])
    assert ear.heard() == ["x", "y"]


def test_a_job_due_later_notifies_when_it_is_promoted(client: Client, conn: psycopg.Connection, ear: Ear) -> None:
    client.enqueue("a", {}, queue="q", delay=60)
    client.enqueue("a", {}, queue="q", delay=60, key="k")
    client.enqueue_many([client.new("a", {}, queue="q", delay=60)])
    assert ear.heard() == []
    conn.execute("UPDATE howdah.jobs SET run_at = now() - interval '1 second'")
    assert client.sweep()["promoted"] == 3
    assert ear.heard() == ["q"]


def test_a_rolled_back_enqueue_notifies_nobody(client: Client, connect: Connect, ear: Ear) -> None:
    mine = connect(autocommit=False)
    client.enqueue("a", {}, on=mine)
    mine.rollback()
    assert ear.heard() == []


def test_a_requeue_and_a_resume_notify(client: Client, ear: Ear) -> None:
    finished: Job = client.cancel(client.enqueue("a", {}, queue="q").id)
    client.pause("q")
    ear.heard()
    client.requeue(finished.id)
    assert ear.heard() == ["q"]
    client.resume("q")
    assert ear.heard() == ["q"]


def test_a_job_given_back_notifies(client: Client, ear: Ear) -> None:
    lease = _claimed(client, "a", ear)
    client.release(lease, "stopping")
    assert ear.heard() == ["default"]


def test_a_landing_notifies(client: Client, conn: psycopg.Connection, ear: Ear) -> None:
    run(on_psycopg(conn), register_kinds([risky.policy, mourn.policy], "w"))
    lease = _claimed(client, "risky", ear)
    assert client.settle_many([(lease, Discard("no hope"))]) == []
    assert ear.heard() == ["landings"]
    assert client.claim(["landings"], worker="w")[0].kind == "mourn"


def _claimed(client: Client, kind: str, ear: Ear) -> Lease:
    client.enqueue(kind, {})
    ear.heard()
    return client.claim(worker="w")[0].lease
