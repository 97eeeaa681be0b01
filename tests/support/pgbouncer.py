"""A PgBouncer of the test's own, where one is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.held import wait_until

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

_BACKEND = ("host", "port", "dbname", "user", "password")
_SETTINGS = """\
[databases]
* = {backend}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = 3
max_client_conn = 200
"""


@contextmanager
def pgbouncer(dsn: str, mode: str = "transaction") -> Iterator[str]:
    """Yield the DSN of `dsn` through a PgBouncer with three backends."""
    assert PGBOUNCER is not None
    parts = conninfo_to_dict(dsn)
    backend = " ".join(f"{name}={parts[name]}" for name in _BACKEND if name in parts)
    with tempfile.TemporaryDirectory() as folder:
        port = _free_port()
        settings, log = Path(folder, "pgbouncer.ini"), Path(folder, "log")
        settings.write_text(_SETTINGS.format(backend=backend, port=port, mode=mode))
        owner = _who_may_connect(str(parts.get("host", "")))
        if owner is not None:
            os.chown(folder, owner, -1)
        with log.open("wb") as out:
            process = subprocess.Popen([PGBOUNCER, str(settings)], user=owner, stdout=out, stderr=out)
        address = make_conninfo(dsn, host="127.0.0.1", port=port)
        try:
            wait_until(lambda: _answers(address), what="pgbouncer")
            yield address
        except TimeoutError:
            raise TimeoutError(log.read_text()) from None
        finally:
            process.terminate()
            process.wait(10)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _who_may_connect(host: str) -> int | None:
    """PgBouncer refuses to be root; and a test server's socket may be its owner's alone."""
    if os.getuid() != 0:
        return None
    return Path(host).stat().st_uid if host.startswith("/") else pwd.getpwnam("nobody").pw_uid


def _answers(dsn: str) -> bool:
    try:
        psycopg.connect(dsn).close()
    except psycopg.OperationalError:
        return False
    return True
