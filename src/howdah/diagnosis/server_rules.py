"""What the server, the way to it, and other people's transactions say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from howdah.diagnosis.finding import Finding, Severity, sql_text
from howdah.diagnosis.limits import Limits
from howdah.model.spoken import lasting

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]

HIDDEN = "<insufficient privilege>"

# What libpq and the server say, and what to do. The first that fits.
_UNREACHABLE = (
    (r"closed (the connection )?unexpectedly|terminating connection|connection already closed",
     "the connection was lost", "See whether the server restarted; what was under way may have been done: look first."),
    (r"could not translate host name|failed to resolve host|name or service not known|name resolution|nodename nor",
     "the host's name cannot be resolved", "Check the host in the DSN, and the DNS of this machine."),
    (r"connection refused|no such file or directory",
     "nothing listens there", "Check host and port, and that PostgreSQL runs and listens on that address."),
    (r"session is read-only",
     "no server there takes writes", "Point the DSN at the primary, or promote a standby."),
    (r"starting up|shutting down|recovery mode|not yet accepting",
     "the server is starting or stopping", "Wait a moment and try again; look at its log if it stays so."),
    (r"too many (clients|connections)|remaining connection slots",
     "the server has no connection left", "Close idle clients, raise max_connections, or put a pooler in front."),
    (r"authentication failed|no password supplied|no pg_hba.conf entry|role .* does not exist",
     "the server refuses this user", "Check user and password (PGPASSFILE, HOWDAH_DSN), and the server's pg_hba.conf."),
    (r"database .* does not exist",
     "there is no such database", "Check the database's name, or make it: createdb NAME"),
    (r"permission denied for database",
     "this user may not connect to the database", "GRANT CONNECT ON DATABASE … TO …"),
    (r"certificate|ssl|tls",
     "no encrypted connection comes about", "Check sslmode and sslrootcert in the DSN against what the server offers."),
    (r"timeout|timed out",
     "nobody answers", "Check host and port, and the firewall between here and there."),
)  # fmt: skip


def unreachable(message: str, address: Mapping[str, Any]) -> Finding:
    """Why no connection comes about, by what the driver says. `address` names it, without a password."""
    why, advice = why_unreachable(message) or (
        "the connection fails",
        "Read what the driver says, and check the DSN.",
    )
    said = message.strip().splitlines()[-1].strip() if message.strip() else ""
    return Finding("reachable", Severity.PROBLEM, f"cannot reach PostgreSQL: {why}", advice, {**address, "error": said})


def why_unreachable(message: str) -> tuple[str, str] | None:
    """What is the matter and what to do, by what the driver says; None where it says nothing that is known here."""
    return next(
        ((why, advice) for pattern, why, advice in _UNREACHABLE if re.search(pattern, message, re.IGNORECASE)), None
    )


def read_only(rows: Rows, limits: Limits) -> list[Finding]:
    """A standby, or a default that forbids writes."""
    server = rows[0]
    if server["standby"]:
        advice = "Point the DSN at the primary; with several hosts add target_session_attrs=read-write."
        return [Finding("read-only", Severity.PROBLEM, "this server is a standby: nothing can be written", advice)]
    if server["read_only"]:
        advice = (
            "Find who set default_transaction_read_only (postgresql.conf, ALTER DATABASE, ALTER ROLE) and reset it."
        )
        return [Finding("read-only", Severity.PROBLEM, "transactions are read-only by default", advice)]
    return []


def durability(rows: Rows, limits: Limits) -> list[Finding]:
    """Settings by which a commit that was acknowledged can be lost."""
    server = rows[0]
    wrong = {
        name: server[name] for name in ("fsync", "full_page_writes", "synchronous_commit") if server[name] == "off"
    }
    if not wrong:
        return []
    title = f"{' and '.join(wrong)} off: a crash of the machine loses jobs that were acknowledged"
    advice = (
        " ".join(f"ALTER SYSTEM SET {name} = on;" for name in wrong)
        + " SELECT pg_reload_conf(); (or where the setting comes from: see pg_settings.source)"
    )
    return [Finding("durability", Severity.WARNING, title, advice, wrong)]


def clock(rows: Rows, limits: Limits) -> list[Finding]:
    """How far this machine's clock is off the database's, beyond what the round trip leaves in doubt."""
    best = min(rows, key=lambda row: row["trip"])
    if abs(best["offset"]) - best["trip"] / 2 <= limits.clock:
        return []
    way = "behind" if best["offset"] > 0 else "ahead of"
    return [
        Finding(
            "clock",
            Severity.WARNING,
            f"this machine's clock is {lasting(abs(best['offset']))} {way} the database's",
            "Leases do not depend on it, but a run_at computed here is off by that. Synchronise both (chrony, NTP).",
            {"offset_seconds": round(best["offset"], 3), "doubt_seconds": round(best["trip"] / 2, 3)},
        )
    ]


def pooler(rows: Rows, limits: Limits) -> list[Finding]:
    """Whether the connection that would LISTEN goes through a pooler that shares server connections."""
    work, *listener = rows
    if listener and listener[0]["shared"]:
        return [
            Finding(
                "pooler",
                Severity.WARNING,
                "--listen-dsn goes through a pooler that shares connections: wake-ups do not arrive",
                "Give --listen-dsn a direct address of PostgreSQL, or a pool in session mode.",
            )
        ]
    if work["shared"] and not listener:
        return [
            Finding(
                "pooler",
                Severity.WARNING,
                "a pooler in transaction mode: LISTEN does not work through it, so idle workers look once per poll",
                "Give workers and the doctor a direct address too: HOWDAH_LISTEN_DSN=postgresql://… "
                "Switch prepared statements off unless the pooler carries them.",
            )
        ]
    if work["pooled"]:
        how = "in transaction mode; the listener has its own way" if work["shared"] else "that keeps sessions"
        return [Finding("pooler", Severity.NOTE, f"there is a pooler {how}")]
    return []


def connections(rows: Rows, limits: Limits) -> list[Finding]:
    """Whether the server runs out of connections."""
    server = rows[0]
    room = server["max_connections"] - server["reserved_connections"]
    if server["connections"] < room * limits.connections:
        return []
    return [
        Finding(
            "connections",
            Severity.WARNING,
            f"{server['connections']} of {room} connections are in use",
            "A worker needs some for itself and one per slot. Give workers fewer slots, close idle clients, or raise "
            "max_connections.",
            {"used": server["connections"], "max_connections": server["max_connections"]},
        )
    ]


def wraparound(rows: Rows, limits: Limits) -> list[Finding]:
    """Whether the server will stop taking writes since old transaction ids are not frozen."""
    age = rows[0]["frozen_age"]
    if age < limits.wraparound:
        return []
    return [
        Finding(
            "wraparound",
            Severity.WARNING,
            f"the oldest unfrozen transaction is {age:,} old; at 2,000,000,000 the server stops taking writes",
            "See what holds vacuum back (finding horizon), then: VACUUM (FREEZE)",
            {"age": age},
        )
    ]


def horizon(rows: Rows, limits: Limits) -> list[Finding]:
    """Who keeps vacuum from removing what is dead, since when, and by which statement. The oldest first."""
    old = [row for row in rows if _is_old(row, limits)]
    return [_holder(row) for row in old[:3]]


def _is_old(row: Row, limits: Limits) -> bool:
    if row["seconds"] is not None:
        return bool(row["seconds"] > limits.old_transaction)
    return bool((row["xids"] or 0) >= limits.old_xids)


def _holder(row: Row) -> Finding:
    age = lasting(row["seconds"]) if row["seconds"] is not None else f"{row['xids']:,} transactions"
    named = f"{row['name']} ({row['username']})" if row["username"] else row["name"]
    title = {
        "session": f"process {named} has held vacuum back for {age}",
        "prepared": f"the prepared transaction {named} has held vacuum back for {age}",
        "slot": f"replication slot {named} holds vacuum back: {age}",
        "standby": f"a query on standby {row['application'] or named} holds vacuum back: {age} (hot_standby_feedback)",
    }[row["holder"]]
    advice = {
        "session": f"SELECT pg_terminate_backend({row['name']}); and keep such transactions short: "
        "idle_in_transaction_session_timeout, or long reports elsewhere.",
        "prepared": f"COMMIT PREPARED {sql_text(row['name'])}; or ROLLBACK PREPARED {sql_text(row['name'])};",
        "slot": f"Let its consumer catch up; if it has none: SELECT pg_drop_replication_slot({sql_text(row['name'])});",
        "standby": "End the query there, or set max_standby_streaming_delay and hot_standby_feedback to what you need.",
    }[row["holder"]]
    if row["statement"] == HIDDEN:
        advice += " To see its statement, grant this user pg_monitor."
    facts = {
        name: row[name]
        for name in ("holder", "name", "username", "application", "state", "seconds", "xids", "statement")
    }
    return Finding("horizon", Severity.WARNING, title, advice, {k: v for k, v in facts.items() if v is not None})
