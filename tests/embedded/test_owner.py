"""A server never outlives its owner, whatever the owner dies of."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from psycopg.conninfo import conninfo_to_dict

from howdah.embedded import EmbeddedServer
from howdah.embedded.processes import is_alive
from tests.support.held import wait_until

_STARTED_BY = {
    "the main thread": "server.start()",
    "a thread that ends": "thread = threading.Thread(target=server.start); thread.start(); thread.join()",
    "an owner with a forked child": "server.start(); os.fork() or signal.pause()",
}


class Owned(NamedTuple):
    owner: subprocess.Popen[str]
    pid: int
    folder: Path


@contextmanager
def owned(start: str, then: str = "signal.pause()") -> Iterator[Owned]:
    program = f"""
import os, signal, threading
from howdah.embedded import EmbeddedServer
server = EmbeddedServer(durable=False)
{start}
print(server.pid, server.dsn, flush=True)
{then}
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as p:
        assert p.stdout is not None
        pid, _, dsn = p.stdout.readline().partition(" ")
        try:
            yield Owned(p, int(pid), Path(str(conninfo_to_dict(dsn.strip())["host"])))
        finally:
            os.killpg(p.pid, signal.SIGKILL)  # the forked child too


@pytest.mark.parametrize("start", _STARTED_BY.values(), ids=_STARTED_BY.keys())
def test_a_killed_owner_leaves_neither_server_nor_files(start: str) -> None:
    with owned(start) as (owner, pid, folder):
        assert is_alive(pid)
        owner.kill()
        wait_until(lambda: not is_alive(pid), what="the end of the server")
        wait_until(lambda: not folder.exists(), what="the end of its files")


def test_an_owner_that_ends_without_a_stop_leaves_nothing() -> None:
    with owned("server.start()", then="os._exit(0)") as (_, pid, folder):
        wait_until(lambda: not is_alive(pid), what="the end of the server")
        wait_until(lambda: not folder.exists(), what="the end of its files")


def test_ctrl_c_in_the_terminal_reaches_only_the_owner() -> None:
    # Not by print: the signal may come inside of one.
    tell = "lambda *_: os.write(1, f'{server.pid}\\n'.encode())"
    start = f"import os; signal.signal(signal.SIGINT, {tell}); server.start()"
    with owned(start, then="while True: signal.pause()") as (owner, pid, _):
        os.killpg(owner.pid, signal.SIGINT)
        assert owner.stdout is not None
        assert owner.stdout.readline() == f"{pid}\n"
        assert is_alive(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent was killed")
def test_a_killed_watcher_takes_the_server_along() -> None:
    with EmbeddedServer(durable=False) as server:
        pid = server.pid
        watcher = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(watcher, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid), what="the end of the server")
