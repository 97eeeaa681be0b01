"""`howdah workers list`."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

import click

from howdah.cli import options
from howdah.cli.groups import Verbs

SPARE = ("version", "host", "pid", "started")  # a worker's name says most of it


@click.group(cls=Verbs)
def workers() -> None:
    """List workers."""


@workers.command("list")
@options.dsn
@options.output
def list_workers(dsn: str | None, output: str) -> None:
    """The workers and how they are.

    late: silent for over 15 seconds; lost: for over 60, its leases run out. stuck: handlers that go on although their
    lease is over or their time is up; each keeps a slot.

    \b
    howdah workers list
    howdah workers list -o json | jq '.[] | select(.status != "alive")'
    """
    from howdah.cli import show
    from howdah.store.jobs import now
    from howdah.store.workers import every

    with options.connected(dsn) as connections:
        row = partial(_table_row, now=connections.run(now()))
        show.listing(connections.run(every()), output, table=row, spare=SPARE, whole=("worker", "status"))


def _table_row(row: dict[str, Any], now: datetime) -> dict[str, Any]:
    from howdah.model.spoken import brief, from_now

    return {
        "worker": row["worker"],
        "status": row["status"],
        "queues": ", ".join(f"{queue}:{slots}" for queue, slots in row["queues"].items()),
        "busy": f"{row['running']}/{row['slots']}",
        "stuck": row["stuck"] or None,
        "heard of": f"{brief(row['heartbeat_age_seconds'])} ago",
        "started": from_now(row["started_at"], now),
        "pid": row["pid"],
        "host": row["hostname"],
        "version": row["version"],
    }
