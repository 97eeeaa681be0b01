"""`howdah workers list`."""

from __future__ import annotations

from typing import Any

import click

from howdah.cli import options
from howdah.cli.groups import Verbs


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
    from howdah.store.workers import every

    with options.connected(dsn) as connections:
        show.listing(connections.run(every()), output, table=_table_row)


def _table_row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "worker": row["worker"],
        "status": row["status"],
        "queues": ", ".join(f"{queue}:{slots}" for queue, slots in row["queues"].items()),
        "busy": f"{row['running']}/{row['slots']}",
        "stuck": row["stuck"] or None,
        "host": row["hostname"],
        "pid": row["pid"],
        "version": row["version"],
        "started": row["started_at"],
        "heartbeat": f"{row['heartbeat_age_seconds']:.0f} s ago",
    }
