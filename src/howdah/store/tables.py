"""The schema as SQLAlchemy sees it: what `alembic check` holds against a database, and what listings select from."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

metadata = sa.MetaData(schema="howdah")

Moment = sa.DateTime(timezone=True)
Seconds: sa.Double[float] = sa.Double()


def _column(name: str, kind: Any, *, null: bool = False, primary_key: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=null, primary_key=primary_key, autoincrement=False)


def _shared() -> list[sa.Column[Any]]:
    """The columns that jobs and history have in common, `max_attempts` aside."""
    return [
        _column("claim_no", sa.BigInteger, null=True),
        _column("origin_id", sa.BigInteger, null=True),
        _column("superseded_by", sa.BigInteger, null=True),
        _column("run_at", Moment),
        _column("created_at", Moment),
        _column("claimed_at", Moment, null=True),
        _column("started_at", Moment, null=True),
        _column("lease_expires_at", Moment, null=True),
        _column("expires_at", Moment, null=True),
        _column("cancel_requested_at", Moment, null=True),
        _column("attempt", sa.Integer),
        _column("excused", sa.Integer),
        _column("crashes", sa.Integer),
        _column("settled_attempt", sa.Integer, null=True),
        _column("priority", sa.SmallInteger),
        _column("state", sa.Text),
        _column("kind", sa.Text),
        _column("queue", sa.Text),
        _column("worker", sa.Text, null=True),
        _column("key", sa.Text, null=True),
        _column("key_for", Seconds, null=True),
        _column("subject", sa.Text, null=True),
        _column("lane", sa.Text, null=True),
        _column("settled_by", sa.Text, null=True),
        _column("settled_event", sa.Text, null=True),
        _column("args", JSONB),
        _column("headers", JSONB),
        _column("tags", ARRAY(sa.Text)),
        _column("progress", JSONB, null=True),
        _column("errors", JSONB),
    ]


jobs = sa.Table(
    "jobs",
    metadata,
    _column("id", sa.BigInteger, primary_key=True),
    _column("position", sa.BigInteger),
    _column("max_attempts", sa.Integer, null=True),
    _column("needs_start", sa.Boolean),
    *_shared(),
)
sa.Index(
    "jobs_claim", jobs.c.queue, jobs.c.priority, jobs.c.position, postgresql_where=sa.text("state = 'available'::text")
)
sa.Index("jobs_due", jobs.c.run_at, postgresql_where=sa.text("state = 'scheduled'::text"))
sa.Index(
    "jobs_held",
    jobs.c.state,
    jobs.c.id,
    postgresql_where=sa.text("state = ANY (ARRAY['running'::text, 'unknown'::text])"),
)
sa.Index("jobs_subject", jobs.c.kind, jobs.c.subject, jobs.c.id, postgresql_where=sa.text("subject IS NOT NULL"))
sa.Index(
    "jobs_expiry",
    jobs.c.expires_at,
    postgresql_where=sa.text(
        "expires_at IS NOT NULL AND attempt = 0"
        " AND (state = ANY (ARRAY['scheduled'::text, 'blocked'::text, 'available'::text]))"
    ),
)

history = sa.Table(
    "history",
    metadata,
    _column("id", sa.BigInteger),
    _column("max_attempts", sa.Integer),
    _column("own_max_attempts", sa.Integer, null=True),
    _column("finished_at", Moment),
    _column("result", JSONB, null=True),
    *_shared(),
    postgresql_partition_by="RANGE (finished_at)",
)
sa.Index("history_id", history.c.id)
sa.Index(
    "history_subject", history.c.kind, history.c.subject, history.c.id, postgresql_where=sa.text("subject IS NOT NULL")
)

kinds = sa.Table(
    "kinds",
    metadata,
    _column("kind", sa.Text, primary_key=True),
    _column("queue", sa.Text),
    _column("max_attempts", sa.Integer),
    _column("retry_base", Seconds),
    _column("retry_factor", Seconds),
    _column("retry_cap", Seconds),
    _column("retry_jitter", Seconds),
    _column("lease", Seconds),
    _column("on_crash", sa.Text),
    _column("on_supersede", sa.Text),
    _column("on_discard", sa.Text, null=True),
    _column("on_unknown", sa.Text, null=True),
    _column("pinned", sa.Boolean),
    _column("declared", JSONB, null=True),
    _column("updated_at", Moment),
)

keys = sa.Table(
    "keys",
    metadata,
    _column("kind", sa.Text, primary_key=True),
    _column("key", sa.Text, primary_key=True),
    _column("job_id", sa.BigInteger),
    _column("key_for", Seconds, null=True),
    _column("free_at", Moment, null=True),
)
sa.Index("keys_free", keys.c.free_at, postgresql_where=sa.text("free_at IS NOT NULL"))

queues = sa.Table(
    "queues", metadata, _column("queue", sa.Text, primary_key=True), _column("paused_at", Moment, null=True)
)

workers = sa.Table(
    "workers",
    metadata,
    _column("worker", sa.Text, primary_key=True),
    _column("hostname", sa.Text),
    _column("pid", sa.Integer),
    _column("version", sa.Text),
    _column("queues", JSONB),
    _column("kinds", ARRAY(sa.Text), null=True),
    _column("running", sa.Integer),
    _column("stuck", sa.Integer),
    _column("stopping", sa.Boolean),
    _column("started_at", Moment),
    _column("heartbeat_at", Moment),
)

sweeps = sa.Table("sweeps", metadata, _column("name", sa.Text, primary_key=True), _column("last_at", Moment))

audit = sa.Table(
    "audit",
    metadata,
    sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
    _column("at", Moment),
    _column("actor", sa.Text),
    _column("action", sa.Text),
    _column("job_id", sa.BigInteger, null=True),
    _column("kind", sa.Text, null=True),
    _column("note", sa.Text, null=True),
    _column("detail", JSONB, null=True),
)
sa.Index("audit_job", audit.c.job_id, postgresql_where=sa.text("job_id IS NOT NULL"))

schema_version = sa.Table(
    "schema_version",
    metadata,
    _column("version", sa.Integer, primary_key=True),
    _column("applied_at", Moment),
    _column("applied_by", sa.Text),
    _column("via", sa.Text),
    _column("package_version", sa.Text),
)

# A view, and so not in the metadata that Alembic compares.
all_jobs = sa.table(
    "all_jobs",
    *(
        sa.column(column.name, column.type)
        for column in history.c
        if column.name not in ("claim_no", "origin_id", "key_for", "own_max_attempts")
    ),
    schema="howdah",
)
