"""Jobs in any state, written straight into the tables, and everything that the tables say of them."""

from __future__ import annotations

from typing import Any, TypeVar

from psycopg import Connection, sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from howdah.model.job import FINAL, ClaimedJob, Enqueued, JobState, Lease, NewJob
from howdah.model.outcome import Event, Report
from howdah.store import claiming, enqueueing, settling
from howdah.store.drivers import on_psycopg
from howdah.store.drivers import run as drive
from howdah.store.operation import Operation

T = TypeVar("T")

TABLES = ("jobs", "history", "keys", "audit")
NOW = sql.SQL("clock_timestamp()")
PAST = sql.SQL("clock_timestamp() - interval '1 second'")
FUTURE = sql.SQL("clock_timestamp() + interval '1 hour'")


def run(conn: Connection[Any], operation: Operation[T]) -> T:
    """Run an operation on this connection, in its transaction if it has one."""
    return drive(on_psycopg(conn), operation)


def make_job(conn: Connection[Any], state: str = "available", *, lease_expired: bool = False, **columns: Any) -> int:
    """Write a job in this state, with what such a job has; further columns by their names. Its id.

    A live job with a key holds it. A value may be SQL, such as PAST.
    """
    row: dict[str, Any] = {"kind": "k", "state": state, "run_at": FUTURE if state == "scheduled" else NOW, **columns}
    if state in ("running", "unknown"):
        expiry = PAST if lease_expired or state == "unknown" else FUTURE
        held = {"attempt": 1, "worker": "w", "claimed_at": PAST, "lease_expires_at": expiry}
        row = {**held, **row}
    if state in FINAL:
        ended = {"attempt": 1, "excused": 0, "max_attempts": 10, "crashes": 0, "priority": 0, "queue": "default"}
        documents = {"args": {}, "headers": {}, "errors": [], "tags": sql.SQL("'{}'")}
        row = {**ended, **documents, "id": _next_id(conn), "created_at": NOW, "finished_at": NOW, **row}
    job_id = _insert(conn, "history" if state in FINAL else "jobs", row)
    if row.get("key") is not None and state not in FINAL:
        conn.execute(
            "INSERT INTO howdah.keys (kind, key, job_id) VALUES (%s, %s, %s)", [row["kind"], row["key"], job_id]
        )
    return job_id


def make_kind(conn: Connection[Any], kind: str = "k", **policy: Any) -> None:
    """Write a kind's policy; what is not given is the default."""
    _insert(conn, "kinds", {"kind": kind, **policy}, returning="kind")


def lease_of(conn: Connection[Any], job_id: int) -> Lease:
    """The lease of a running job."""
    row = fetch(conn, job_id)
    return Lease(job_id, row["attempt"], row["worker"], row["lease_expires_at"])


def fetch(conn: Connection[Any], job_id: int) -> dict[str, Any]:
    """The job's row in `howdah.all_jobs`."""
    cursor = conn.cursor(row_factory=dict_row)
    row = cursor.execute("SELECT * FROM howdah.all_jobs WHERE id = %s", [job_id]).fetchone()
    assert row is not None, f"job {job_id} is nowhere"
    return row


def state_of(conn: Connection[Any], job_id: int) -> JobState:
    """Where the job stands."""
    return JobState(fetch(conn, job_id)["state"])


def expire_lease(conn: Connection[Any], job_id: int) -> None:
    """Write the past into a lease's end."""
    conn.execute(
        "UPDATE howdah.jobs SET lease_expires_at = howdah.clock() - interval '1 second' WHERE id = %s", [job_id]
    )


def everything(conn: Connection[Any]) -> list[tuple[Any, ...]]:
    """Every row of every table that a step may write, with the transaction that wrote it."""
    parts = (f"SELECT '{table}', t.xmin::text, t::text FROM howdah.{table} t" for table in TABLES)
    return conn.execute(" UNION ALL ".join(parts) + " ORDER BY 1, 3").fetchall()


def enqueue(conn: Connection[Any], **options: Any) -> Enqueued:
    """Enqueue a job of kind k, unless another is named, on this connection and in its transaction."""
    return run(conn, enqueueing.enqueue(NewJob(options.pop("kind", "k"), "{}", **options)))


def claim(conn: Connection[Any], limit: int = 100, worker: str = "w", **options: Any) -> list[ClaimedJob]:
    """Claim from queue `default`."""
    return run(conn, claiming.claim({"default": limit}, limit, worker=worker, **options))


def report(conn: Connection[Any], lease: Lease, event: Event, **said: Any) -> JobState:
    """Report on an attempt."""
    return run(conn, settling.settle_one(lease, Report(event, **said)))


def _next_id(conn: Connection[Any]) -> int:
    row = conn.execute("SELECT nextval('howdah.job_id_seq')").fetchone()
    assert row is not None
    return row[0]


def _insert(conn: Connection[Any], table: str, row: dict[str, Any], *, returning: str = "id") -> Any:
    values = [value if isinstance(value, sql.Composable) else sql.Literal(_document(value)) for value in row.values()]
    found = conn.execute(
        sql.SQL("INSERT INTO {} ({}) VALUES ({}) RETURNING {}").format(
            sql.Identifier("howdah", table),
            sql.SQL(", ").join(map(sql.Identifier, row)),
            sql.SQL(", ").join(values),
            sql.Identifier(returning),
        )
    ).fetchone()
    assert found is not None
    return found[0]


def _document(value: Any) -> Any:
    return Jsonb(value) if isinstance(value, dict | list) else value
