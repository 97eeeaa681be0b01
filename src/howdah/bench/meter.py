"""What a run costs: WAL, flushes, dead rows, CPU on both sides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psycopg

from howdah.bench.place import Database
from howdah.bench.processes import Unreadable, cpu_seconds, family_cpu_seconds, postmaster_of

DEAD = "SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables WHERE relid = 'howdah.jobs'::regclass"
FSYNCS_18 = "SELECT coalesce(sum(fsyncs), 0)::bigint FROM pg_stat_io WHERE object = 'wal'"
FSYNCS_15 = "SELECT wal_sync FROM pg_stat_wal"


@dataclass(frozen=True, slots=True)
class Cost:
    """Figures, and why others are missing."""

    figures: dict[str, float]
    omitted: dict[str, str]


class Meter:
    """From `start` to `stop`. `clients`: the pids of the workers, or of whoever does the work.

    WAL and flushes are the server's: whoever else writes there counts too.
    """

    def __init__(self, database: Database, clients: Sequence[int]) -> None:
        self._database = database
        self._clients = clients
        self._omitted: dict[str, str] = {}
        self._before: dict[str, float] = {}
        self._spent: dict[str, float] = {}

    def start(self) -> None:
        """Begin."""
        self._before = self._counters() | self._fsyncs()

    def stop(self) -> None:
        """The work is done; those who did it are still there."""
        self._spent = {name: now - self._before[name] for name, now in self._counters().items()}

    def cpu(self) -> dict[str, float]:
        """Seconds of CPU between start and stop, by `client` and `postgres`, as far as they are known."""
        return {side: self._spent[side] for side in ("client", "postgres") if side in self._spent}

    def cost(self, jobs: int) -> Cost:
        """Once the workers have ended, since backends report some of their numbers only then."""
        for name, now in self._fsyncs().items():
            self._spent[name] = now - self._before[name]
        figures = {
            "wal_bytes_per_job": self._spent["wal"] / jobs,
            "dead_tuples": float(self._database.one(DEAD)),
            **{f"{side}_cpu_seconds_per_10k": 10_000 * spent / jobs for side, spent in self.cpu().items()},
            **{name: self._spent[name] for name in ("wal_fsyncs",) if name in self._spent},
        }
        return Cost(figures, dict(self._omitted))

    def _counters(self) -> dict[str, float]:
        found = {"wal": float(self._database.one("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))}
        self._try(found, "client", "client_cpu_seconds_per_10k", lambda: cpu_seconds(self._clients))
        self._try(found, "postgres", "postgres_cpu_seconds_per_10k", self._postgres)
        return {name: value for name, value in found.items() if not self._before or name in self._before}

    def _postgres(self) -> float:
        return family_cpu_seconds(postmaster_of(self._database.watch.info.backend_pid))

    def _fsyncs(self) -> dict[str, float]:
        query = FSYNCS_18 if self._database.watch.info.server_version >= 180000 else FSYNCS_15
        try:
            return {"wal_fsyncs": float(self._database.one(query))}
        except psycopg.errors.InsufficientPrivilege:
            self._omitted["wal_fsyncs"] = "the role may not read the server's statistics"
            return {}

    def _try(self, found: dict[str, float], name: str, figure: str, read: Callable[[], float]) -> None:
        try:
            found[name] = read()
        except Unreadable as why:
            self._omitted[figure] = str(why)
