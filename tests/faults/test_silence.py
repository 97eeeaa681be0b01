"""Connections that fall silent without an end: a firewall forgot them, a proxy hangs, a host is gone."""

from __future__ import annotations

import os
import signal
import socket
import time
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from howdah import Client
from howdah.model.errors import Unreachable
from howdah.store import claiming, pool
from howdah.store.connections import Connections
from howdah.store.keeper_connection import KeeperConnection
from tests.faults import kinds
from tests.faults.conftest import all_completed, worker_process, working
from tests.support.held import Connect, held, wait_until
from tests.support.proxy import Proxy

ARMED = "SELECT 1 WHERE pg_sequence_last_value('howdah.bell'::regclass) = 1"
LISTENERS = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()"
SETTLED = "SELECT 1 FROM howdah.history WHERE id = %s"


@pytest.mark.usefixtures("impatient")
def test_a_worker_replaces_connections_that_fell_silent(dsn: str, proxy: Proxy) -> None:
    with working(proxy.dsn, observer=dsn), Client(dsn) as client:
        for kind in (kinds.note, kinds.write, kinds.write_blocking):
            all_completed(dsn, [kind.enqueue(client).id])
        before = proxy.open
        proxy.freeze()
        all_completed(dsn, [kind.enqueue(client).id for kind in (kinds.note, kinds.write, kinds.write_blocking)])
        wait_until(lambda: proxy.open <= before, what="the silent connections to be given up")
    assert set(kinds.ran.values()) == {1}


@pytest.mark.usefixtures("impatient")
def test_a_worker_goes_on_after_a_time_in_which_nothing_answered(dsn: str, proxy: Proxy) -> None:
    with working(proxy.dsn, observer=dsn), Client(dsn) as client:
        running = kinds.hold_shortly.enqueue(client, "g")
        wait_until(lambda: kinds.ran[running.id], what="a job to run")
        proxy.stall()
        ids = [kinds.note.enqueue(client).id for _ in range(5)]
        wait_until(lambda: client.sweep()["retried"], what="its lease to be lost")
        kinds.gate("g").set()
        proxy.forward()
        all_completed(dsn, [*ids, running.id], 15)


@pytest.mark.usefixtures("impatient")
def test_an_answer_that_is_lost_costs_nothing(dsn: str, proxy: Proxy, conn: psycopg.Connection) -> None:
    with working(proxy.dsn, observer=dsn), Client(dsn) as client:
        made = kinds.hold.enqueue(client, "g")
        wait_until(lambda: kinds.ran[made.id], what="the job to run")
        proxy.swallow()
        kinds.gate("g").set()
        since = time.monotonic()
        # Where a claim's silence was noticed first, its connections are gone, and the report comes after them.
        wait_until(
            lambda: conn.execute(SETTLED, [made.id]).fetchone() or time.monotonic() - since > 2,
            what="the report to be committed, or not to be sent",
        )
        proxy.forward()
        all_completed(dsn, [made.id, kinds.note.enqueue(client).id], 20)
        assert client.get(made.id).attempt == 1
    assert kinds.ran[made.id] == 1


@pytest.mark.usefixtures("impatient")
def test_a_silent_listener_is_replaced(dsn: str, proxy: Proxy, conn: psycopg.Connection) -> None:
    with working(proxy.dsn, observer=dsn, poll=60.0), Client(dsn) as client:
        wait_until(lambda: conn.execute(ARMED).fetchone(), what="the worker to be idle")
        before = _listeners(conn)
        proxy.freeze()
        wait_until(lambda: _listeners(conn) - before, what="another listener")
        all_completed(dsn, [kinds.note.enqueue(client).id], 5)


def test_a_worker_ends_in_time_while_nothing_answers(dsn: str, proxy: Proxy, conn: psycopg.Connection[Any]) -> None:
    with worker_process(proxy.dsn, "--grace", "1") as worker:
        wait_until(lambda: _listeners(conn), what="the worker", timeout=20)
        proxy.stall()
        began = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        worker.wait(10)
        assert time.monotonic() - began < 1 + 2


def _listeners(conn: psycopg.Connection[Any]) -> set[int]:
    return {pid for (pid,) in conn.execute(LISTENERS).fetchall()}


def test_silence_is_noticed_within_fifteen_seconds(dsn: str, proxy: Proxy) -> None:
    """With the real constants, at the lease keeper, whose thread blocks."""
    keeper = KeeperConnection(proxy.dsn)
    keeper.run(claiming.asked([]))
    proxy.freeze()
    began = time.monotonic()
    with pytest.raises(Unreachable, match="silent for 10 s"):
        keeper.run(claiming.asked([]))
    assert time.monotonic() - began < 15
    assert keeper.run(claiming.asked([])) == {}
    keeper.close()


def test_a_statement_that_is_given_up_does_not_wait_on_in_the_server(
    dsn: str, connect: Connect, conn: psycopg.Connection
) -> None:
    connections = Connections(dsn, patience=0.3)
    with held(connect) as holder:
        holder.execute("LOCK TABLE howdah.jobs")
        with pytest.raises(Unreachable, match="silent"):
            connections.run(claiming.asked([]))
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        wait_until(lambda: not conn.execute(waiting).fetchone(), what="the backend to end")
    assert connections.run(claiming.asked([])) == {}
    connections.close()


@pytest.mark.usefixtures("effects")
def test_a_listening_address_that_does_not_answer_is_the_listeners_trouble_alone(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_dsn = make_conninfo(dsn, host="127.0.0.1", port=silent.getsockname()[1])
        monkeypatch.setenv("HOWDAH_LISTEN_DSN", silent_dsn)
        with working(dsn):
            for _ in range(3):
                monkeypatch.setattr(pool, "IDLE", 0.0)  # so that connections have to be made meanwhile
                with Client(dsn) as client:
                    enqueued = [kind.enqueue(client).id for kind in (kinds.note, kinds.write, kinds.write_blocking)]
                all_completed(dsn, enqueued)


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="this system has no TCP_USER_TIMEOUT")
def test_every_socket_notices_a_host_that_is_gone(dsn: str, proxy: Proxy) -> None:
    """Also those of clients, which have no patience: by the kernel's means."""
    sockets = []
    for connections in (Connections(proxy.dsn), Connections(proxy.dsn, patience=1.0)):
        sockets.append(connections.use(lambda connection: socket.socket(fileno=os.dup(connection.fileno()))))
        connections.close()
    for one in sockets:
        with one:
            assert one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 15_000
            idle, interval, count = (
                one.getsockopt(socket.IPPROTO_TCP, option)
                for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            )
            assert idle + interval * count <= 15
