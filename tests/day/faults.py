"""What happens to the service in its day: each fault once, and over when the function returns."""

from __future__ import annotations

import contextlib
import time

import psycopg
from psycopg.conninfo import make_conninfo

from tests.day.service import LOGIN, Site, WorkerProcess
from tests.support.held import wait_until

OTHERS = "usename = %s AND pid <> pg_backend_pid()"


def terminated_backends(site: Site, _workers: list[WorkerProcess]) -> None:
    """All at once, the listeners' and the lease keepers' too."""
    site.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OTHERS}", LOGIN)


def cancelled_statements(site: Site, _workers: list[WorkerProcess]) -> None:
    """Whatever runs, every 50 ms for two seconds."""
    end = time.monotonic() + 2
    while time.monotonic() < end:
        site.ask(f"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND {OTHERS}", LOGIN)
        time.sleep(0.05)


def restart(site: Site, _workers: list[WorkerProcess]) -> None:
    site.server.restart()


def crash(site: Site, _workers: list[WorkerProcess]) -> None:
    site.server.kill()
    time.sleep(2)
    site.server.start()


def black_hole(_site: Site, workers: list[WorkerProcess]) -> None:
    """One worker's packets go nowhere for longer than its leases last."""
    workers[1].proxy.stall()
    time.sleep(12)
    workers[1].proxy.cut()
    workers[1].proxy.forward()


def dead_connections(_site: Site, workers: list[WorkerProcess]) -> None:
    """The connections there are fall silent for good; new ones work."""
    workers[2].proxy.freeze()
    time.sleep(5)


def no_connections_left(site: Site, _workers: list[WorkerProcess]) -> None:
    """Somebody else takes every free connection, and the workers' own are cut meanwhile."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(psycopg.OperationalError):
            while True:
                held.enter_context(psycopg.connect(make_conninfo(site.dsn, user="day_hog"), autocommit=True))
        site.ask(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OTHERS}", LOGIN)
        end = time.monotonic() + 8
        while time.monotonic() < end:
            with contextlib.suppress(psycopg.OperationalError):
                held.enter_context(psycopg.connect(make_conninfo(site.dsn, user="day_hog"), autocommit=True))
            time.sleep(0.02)


def read_only(site: Site, _workers: list[WorkerProcess]) -> None:
    """The primary becomes read-only for the workers, and their connections stay open."""
    with psycopg.connect(site.dsn, autocommit=True) as connection:
        connection.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
        terminated_backends(site, [])
        time.sleep(6)
        connection.execute("ALTER DATABASE postgres RESET default_transaction_read_only")


def hostile_settings(site: Site, _workers: list[WorkerProcess]) -> None:
    """The role gets short timeouts, and somebody locks the table for longer than they allow."""
    with psycopg.connect(site.dsn, autocommit=True) as connection:
        for setting in ("statement_timeout = '200ms'", "lock_timeout = '50ms'"):
            connection.execute(f"ALTER ROLE {LOGIN} SET {setting}".encode())
        terminated_backends(site, [])
        time.sleep(2)
        with connection.transaction():
            connection.execute("LOCK TABLE howdah.jobs IN ACCESS EXCLUSIVE MODE")
            time.sleep(1)
        for setting in ("statement_timeout", "lock_timeout"):
            connection.execute(f"ALTER ROLE {LOGIN} RESET {setting}".encode())
    terminated_backends(site, [])


def rolling_restart(_site: Site, workers: list[WorkerProcess]) -> None:
    """Every worker is replaced, one after the other, gracefully."""
    for worker in workers:
        assert worker.stop() == 0, worker.log[-2000:]
        worker.start()
        wait_until(worker.registered, what=f"{worker.name} to register again", timeout=20)


DAY = [
    terminated_backends,
    cancelled_statements,
    restart,
    crash,
    black_hole,
    dead_connections,
    no_connections_left,
    read_only,
    hostile_settings,
    rolling_restart,
]
