"""PostgreSQL goes away and comes back: the worker stays, tries at a gentle pace, says so once, and leaks nothing."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from howdah import Client, Unreachable, Worker
from howdah.store import pool
from tests.faults import kinds
from tests.faults.conftest import all_completed, worker_process, working
from tests.support.held import wait_until
from tests.support.proxy import Proxy

OTHERS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'howdah'"
TERMINATE = f"SELECT pg_terminate_backend(pid) FROM ({OTHERS}) AS others"
CANCEL = f"SELECT pg_cancel_backend(pid) FROM ({OTHERS}) AS others"
EFFECTS = "SELECT job_id FROM public.effects ORDER BY job_id"


def test_a_worker_says_once_that_the_database_is_away_and_once_that_it_is_back(
    dsn: str, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    with working(proxy.dsn, observer=dsn), Client(dsn) as client:
        running = kinds.hold.enqueue(client, "g")
        wait_until(lambda: kinds.ran[running.id], what="a job to run")
        began = time.monotonic()
        proxy.refuse()
        kinds.gate("g").set()  # now claims, reports, leases, the sweep and the listener are all in trouble
        tried = proxy.accepted
        wait_until(lambda: proxy.accepted - tried >= 6, what="six tries to connect")
        lasted = time.monotonic() - began
        proxy.forward()
        all_completed(dsn, [running.id, kinds.note.enqueue(client).id])
        said = _warnings(caplog)
    assert any("PostgreSQL" in line for line in said[:1])
    assert "answers again after" in said[-1]
    assert len(said) <= lasted + 2
    assert kinds.ran[running.id] == 1


def test_a_worker_tries_to_connect_about_once_a_second_and_costs_nothing_meanwhile(dsn: str, proxy: Proxy) -> None:
    with worker_process(proxy.dsn) as worker:
        wait_until(lambda: proxy.open >= 3, what="the worker", timeout=20)
        proxy.refuse()
        wait_until(lambda: proxy.accepted, what="a try")
        tried, spent, began = proxy.accepted, _cpu_seconds(worker.pid), time.monotonic()
        wait_until(lambda: time.monotonic() - began > 6, what="six seconds")
        assert proxy.accepted - tried <= 10
        assert _cpu_seconds(worker.pid) - spent < 0.05 * 6
        proxy.forward()
        with psycopg.connect(dsn) as connection, connection.transaction():
            job_id = connection.execute("SELECT howdah.enqueue('note')").fetchone()[0]  # type: ignore[index]
        all_completed(dsn, [job_id], 10)


def test_many_outages_leave_nothing_behind(dsn: str, proxy: Proxy) -> None:
    with worker_process(proxy.dsn) as worker, Client(dsn) as client:
        all_completed(dsn, [kinds.note.enqueue(client).id], 20)
        wait_until(lambda: proxy.open >= 3, what="listener and lease keeper")
        files, most = _files(worker.pid), 26
        for round_ in range(25):
            proxy.refuse() if round_ % 2 else proxy.cut()
            proxy.forward()
            all_completed(dsn, [kinds.note.enqueue(client).id], 20)
            assert proxy.open <= most
        wait_until(lambda: _files(worker.pid) <= files + 3, what="as few files as before")


@pytest.mark.usefixtures("effects")
@pytest.mark.parametrize("statement", [TERMINATE, CANCEL], ids=["terminated", "cancelled"])
def test_backends_that_are_ended_cost_no_job(dsn: str, conn: psycopg.Connection[Any], statement: str) -> None:
    with working(dsn), Client(dsn) as client:
        held = kinds.hold_shortly.enqueue(client, "g")
        wait_until(lambda: kinds.ran[held.id], what="a job to run")
        ids = []
        for _ in range(20):
            ids += [kind.enqueue(client).id for kind in (kinds.note, kinds.write, kinds.write_blocking)]
            conn.execute(statement + " WHERE pid <> %s", [_pid(client)])
        kinds.gate("g").set()
        all_completed(dsn, [*ids, held.id], 20)
        written = [job_id for (job_id,) in conn.execute(EFFECTS).fetchall()]
    assert written == sorted(set(written))
    assert len(written) == 40
    assert kinds.ran[held.id] == 1  # its lease of two seconds was kept


@pytest.mark.usefixtures("effects")
def test_connections_that_no_more_are_to_be_had(
    dsn: str, conn: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "IDLE", 0.3)
    role = _role(conn)
    with working(f"{dsn} user={role}", observer=dsn), Client(dsn) as client:
        held = kinds.hold_shortly.enqueue(client, "g")
        wait_until(lambda: kinds.ran[held.id], what="a job to run")
        conn.execute(f"ALTER ROLE {role} CONNECTION LIMIT 0")
        ids = [kind.enqueue(client).id for _ in range(5) for kind in (kinds.note, kinds.write)]
        began = time.monotonic()
        wait_until(lambda: time.monotonic() - began > 4, what="twice the lease")
        with pytest.raises(Unreachable, match="too many connections"):
            Worker(f"{dsn} user={role}", [kinds]).drain()
        conn.execute(f"ALTER ROLE {role} CONNECTION LIMIT -1")
        kinds.gate("g").set()
        all_completed(dsn, [*ids, held.id])
    assert kinds.ran[held.id] == 1
    conn.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")


def _role(conn: psycopg.Connection[Any]) -> str:
    """A role that is no superuser, whose connections are therefore counted."""
    role = f"narrow_{os.getpid()}"
    conn.execute(f"""
        CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA howdah TO {role};
        GRANT ALL ON ALL TABLES IN SCHEMA howdah, public TO {role};
        GRANT ALL ON ALL SEQUENCES IN SCHEMA howdah TO {role};
        GRANT ALL ON ALL FUNCTIONS IN SCHEMA howdah TO {role}
    """)
    return role


def _pid(client: Client) -> int:
    with client._connections.borrow() as connection:
        return connection.info.backend_pid


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def _cpu_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
