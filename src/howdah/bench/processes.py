"""What the kernel says of a process: CPU time, memory, children. Linux only; elsewhere it is omitted."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

PROC = Path("/proc")


class Unreadable(Exception):
    """The kernel does not say, and why."""


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU time of these processes, user and system, without their children. Raises Unreadable."""
    return sum(sum(_times(pid)[1:3]) for pid in pids) / os.sysconf("SC_CLK_TCK")


def family_cpu_seconds(pid: int) -> float:
    """CPU time of a process and all its children, those that have ended included. Raises Unreadable."""
    while True:
        before = _times(pid)
        ticks = sum(before[1:]) + _ticks_of_children(pid)
        if _times(pid)[3:] == before[3:]:
            return ticks / os.sysconf("SC_CLK_TCK")
        # One ended meanwhile: it was no child any more, and not yet among those that have ended.


def resident_bytes(pid: int) -> int:
    """Memory that a process holds. Raises Unreadable."""
    try:
        pages = int((PROC / str(pid) / "statm").read_text().split()[1])
    except (OSError, IndexError, ValueError) as error:
        raise Unreadable(f"no {PROC}/{pid}/statm") from error
    return pages * os.sysconf("SC_PAGE_SIZE")


def postmaster_of(backend: int) -> int:
    """The postmaster of a PostgreSQL backend of this machine. Raises Unreadable."""
    if not PROC.is_dir():
        raise Unreadable("this system has no /proc")
    try:
        name = (PROC / str(backend) / "comm").read_text().strip()
    except OSError as error:
        raise Unreadable("PostgreSQL's processes are not visible from here") from error
    if not name.startswith("postgres"):
        raise Unreadable("PostgreSQL's processes are not visible from here")
    return _times(backend)[0]


def _ticks_of_children(pid: int) -> int:
    ticks = 0
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                parent, user, system, *_ = _times(int(entry.name))
            except Unreadable:
                continue  # it has ended meanwhile
            if parent == pid:
                ticks += user + system
    return ticks


def _times(pid: int) -> tuple[int, int, int, int, int]:
    """Parent; then user and system ticks, its own and those of its ended children."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return int(fields[1]), int(fields[11]), int(fields[12]), int(fields[13]), int(fields[14])
    except (OSError, IndexError, ValueError) as error:
        raise Unreadable(f"no {PROC}/{pid}/stat") from error
