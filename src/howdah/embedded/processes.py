"""Which processes there are: the standard library cannot tell the children of another process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROC = Path("/proc")
POLL = 0.02


class _Process(NamedTuple):
    pid: int
    parent: int
    state: str


def is_alive(pid: int) -> bool:
    """Tell whether the process exists; one that ended and waits for its parent to notice does not."""
    return any(process.pid == pid and process.state[0] != "Z" for process in _processes())


def kill_family(pid: int, *, timeout: float = 30.0) -> None:
    """SIGKILL a process and its children, and return when all are gone."""
    _signal(pid, signal.SIGSTOP)  # it must not have new children meanwhile
    family = [pid, *(process.pid for process in _processes() if process.parent == pid)]
    for member in family:
        _signal(member, signal.SIGKILL)
    deadline = time.monotonic() + timeout
    while any(is_alive(member) for member in family):
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes {family} survived SIGKILL for {timeout} s")
        time.sleep(POLL)


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _processes() -> Iterator[_Process]:
    return _from_proc() if (_PROC / "self" / "stat").exists() else _from_ps()


def _from_proc() -> Iterator[_Process]:
    for folder in _PROC.glob("[0-9]*"):
        try:
            # The name, in parentheses, may itself hold spaces and parentheses.
            state, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
        except (FileNotFoundError, ProcessLookupError):
            continue
        yield _Process(int(folder.name), int(parent), state)


def _from_ps() -> Iterator[_Process]:
    command = ["/bin/ps", "-A", "-o", "pid=,ppid=,stat="]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603
    for line in listing.splitlines():
        pid, parent, state = line.split()
        yield _Process(int(pid), int(parent), state)
