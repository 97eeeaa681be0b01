"""Reads what `howdah doctor` judges: on its own connections, each set of facts in a short transaction.

Nothing is written, and no setting outlives its transaction. A set that cannot be read costs only its own checks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict

from howdah.diagnosis import CHECKS, Finding, Limits, Severity
from howdah.diagnosis.schema_rules import version
from howdah.diagnosis.server_rules import unreachable
from howdah.migrations import grants_of
from howdah.migrations.steps import SCHEMA_VERSION
from howdah.store.drivers import on_psycopg
from howdah.store.dsn import resolve
from howdah.store.operation import Query, Rows
from howdah.store.retention import retention

PATIENCE = 10.0  # seconds for everything
LONGEST = 2.0  # seconds for one statement
TRIPS = 3
SECOND = 1000

Facts = Callable[[], Rows]
READING = ("SELECT", "USAGE")


def diagnose(dsn: str | None, *, listen_dsn: str | None = None, limits: Limits | None = None) -> list[Finding]:
    """Everything there is to say about a database, all checks in their order. Raises InvalidOption for a bad DSN."""
    conninfo, listener = resolve(dsn), resolve(listen_dsn) if listen_dsn else None
    limits = limits or Limits(retention=retention())
    with ExitStack() as opened:
        doors = []
        for address in filter(None, (conninfo, listener)):
            try:
                doors.append(opened.enter_context(_connect(address)))
            except psycopg.Error as error:
                return [unreachable(str(error), _named(address))]
        reader = Reader(doors[0], limits, listeners=doors[1:])
        return [_reachable(conninfo, doors[0]), *_judged(reader, limits)]


class Reader:
    """Sets of facts by their names, each read once."""

    def __init__(
        self, connection: psycopg.Connection[Any], limits: Limits, listeners: Sequence[psycopg.Connection[Any]]
    ) -> None:
        self._connection = connection
        self._listeners = listeners
        self._until = time.monotonic() + PATIENCE
        self._read: dict[str, Rows | psycopg.Error] = {}
        self._params: Mapping[str, Mapping[str, Any]] = {
            "grants": _needs(),
            "partitions": {"days": limits.days_ahead},
            "leases": {"overdue": limits.overdue},
            "overdue": {"overdue": limits.overdue},
            "loops": {"least": min(limits.released, limits.snoozed)},
        }
        self._measured: Mapping[str, Facts] = {"clock": self._clock, "pooler": self._pooler}

    def facts(self, name: str) -> Rows:
        """The rows of `sql/doctor/<name>.sql`, or what is measured by that name. Raises psycopg.Error."""
        if name not in self._read:
            try:
                self._read[name] = self._measured[name]() if name in self._measured else self._query(name)
            except psycopg.Error as error:
                self._read[name] = error
        found = self._read[name]
        if isinstance(found, psycopg.Error):
            raise found
        return found

    def version(self) -> int | None:
        """The schema's version, None without a schema."""
        try:
            rows = self._bounded(Query("schema/version"))
        except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
            return None
        return rows[0]["version"]  # type: ignore[no-any-return]

    @property
    def is_cut_off(self) -> bool:
        """Whether the connection was lost meanwhile."""
        return self._connection.closed

    def _query(self, name: str) -> Rows:
        return self._bounded(Query(f"doctor/{name}", self._params.get(name, {})))

    def _bounded(self, query: Query, connection: psycopg.Connection[Any] | None = None) -> Rows:
        connection = connection or self._connection
        seconds = min(LONGEST, max(self._until - time.monotonic(), 0.001))
        with connection.transaction():
            execute = on_psycopg(connection)
            execute(Query("doctor/bounds", {"milliseconds": str(max(1, int(seconds * SECOND)))}))
            return execute(query)

    def _clock(self) -> Rows:
        measured = []
        for _ in range(TRIPS):
            began, wall = time.monotonic(), time.time()
            now = on_psycopg(self._connection)(Query("doctor/clock"))[0]["now"]
            trip = time.monotonic() - began
            measured.append({"trip": trip, "offset": now.timestamp() - (wall + trip / 2)})
        return measured

    def _pooler(self) -> Rows:
        return [self._how_pooled(connection) for connection in (self._connection, *self._listeners)]

    def _how_pooled(self, connection: psycopg.Connection[Any]) -> dict[str, bool]:
        """A pooler names processes of its own; one that shares lets a second client have the first one's."""
        if _backend(connection) == connection.info.backend_pid:
            return {"pooled": False, "shared": False}
        with _connect(connection.info.dsn, password=connection.info.password) as second:
            pids = [(_backend(connection), _backend(second)) for _ in range(TRIPS)]
        firsts, seconds = ({pair[side] for pair in pids} for side in (0, 1))
        return {"pooled": True, "shared": len(firsts) > 1 or bool(firsts & seconds)}


def _judged(reader: Reader, limits: Limits) -> list[Finding]:
    try:
        schema = version(reader.version(), SCHEMA_VERSION)
    except psycopg.Error as error:
        schema = Finding("schema-version", Severity.PROBLEM, f"the schema's version cannot be read: {_why(error)}",
                         "GRANT howdah_worker TO this user; see howdah migrate --roles")  # fmt: skip
    if schema.severity > Severity.NOTE:
        return [schema]
    findings = [schema]
    for check in CHECKS:
        try:
            findings += check.judge(reader.facts(check.facts), limits)
        except psycopg.Error as error:
            if reader.is_cut_off:
                return [*findings, unreachable(str(error), {})]
            forbidden = isinstance(error, psycopg.errors.InsufficientPrivilege)
            findings.append(check.unchecked(_why(error), forbidden=forbidden))
    return findings


def _connect(conninfo: str, **given: Any) -> psycopg.Connection[Any]:
    connection = psycopg.connect(conninfo, autocommit=True, prepare_threshold=None, **given)
    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    connection.read_only = True
    return connection


def _backend(connection: psycopg.Connection[Any]) -> int:
    return int(on_psycopg(connection)(Query("doctor/backend"))[0]["pid"])


def _needs() -> dict[str, list[Any]]:
    needs = [(role, grant) for role in ("producer", "worker") for grant in grants_of(f"howdah_{role}")]
    return {
        "roles": [role for role, _ in needs],
        "whats": [str(grant) for _, grant in needs],
        "types": [grant.type for _, grant in needs],
        "objects": [grant.object for _, grant in needs],
        "fields": [grant.field for _, grant in needs],
        "privileges": [grant.privilege for _, grant in needs],
        # PUBLIC has clock and ring
        "writes": [g.privilege not in READING and g.object not in ("howdah.clock", "howdah.ring") for _, g in needs],
    }


def _named(conninfo: str) -> dict[str, Any]:
    given = conninfo_to_dict(conninfo)
    return {name: given[name] for name in ("host", "port", "dbname", "user") if name in given}


def _reachable(conninfo: str, connection: psycopg.Connection[Any]) -> Finding:
    release = connection.info.parameter_status("server_version")
    return Finding("reachable", Severity.OK, f"PostgreSQL {release} answers", facts=_named(conninfo))


def _why(error: psycopg.Error) -> str:
    if isinstance(error, psycopg.errors.QueryCanceled):
        return "it would take too long"
    return error.diag.message_primary or str(error)
