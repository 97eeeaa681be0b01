"""What a measurement depends on: versions, the machine, the server's settings."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import psycopg

from howdah.bench.result import Conditions
from howdah.worker.settings import WorkerSettings

SETTINGS = (
    *("fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "wal_level", "wal_compression"),
    *("data_checksums", "shared_buffers", "max_wal_size", "checkpoint_timeout", "max_connections", "jit"),
    *("autovacuum", "autovacuum_naptime", "default_transaction_isolation", "shared_preload_libraries"),
)


def conditions_of(connection: psycopg.Connection[Any]) -> Conditions:
    """Ask the server, and look around here."""
    rows = connection.execute(
        "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY (%s) ORDER BY name",
        (list(SETTINGS),),
    )
    version = connection.execute("SELECT current_setting('server_version')").fetchone()
    assert version is not None
    return Conditions(
        versions={
            "howdah": metadata.version("howdah"),
            "PostgreSQL": version[0],
            "Python": platform.python_version(),
            "psycopg": f"{psycopg.__version__} ({psycopg.pq.__impl__})",
        },
        machine={"system": platform.platform(), "cpu": _cpu(), "cores": str(_cores()), "memory": _memory()},
        settings=dict(rows.fetchall()),
        worker=_defaults(),
    )


def _defaults() -> dict[str, str]:
    defaults = WorkerSettings()
    return {"prefetch, at most": str(defaults.prefetch), "poll": f"{defaults.poll:g} s"}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu() -> str:
    return _line("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()


def _memory() -> str:
    kilobytes = _line("/proc/meminfo", "MemTotal")
    return f"{int(kilobytes.split()[0]) / 1024**2:.0f} GiB" if kilobytes else "unknown"


def _line(file: str, name: str) -> str:
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")
