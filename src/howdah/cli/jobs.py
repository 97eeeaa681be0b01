"""`howdah jobs list|show`, and the group of all verbs for jobs."""

from __future__ import annotations

from typing import Any

import click

from howdah.cli import bulk, options, tail
from howdah.cli.filters import chosen, filters, hint_at_names
from howdah.cli.groups import Verbs
from howdah.model.job import JobState


@click.group(cls=Verbs)
def jobs() -> None:
    """List, show and follow jobs; cancel, requeue and resolve them."""


for verb in (bulk.cancel, bulk.requeue, bulk.resolve, tail.tail):
    jobs.add_command(verb)


@jobs.command("list")
@options.dsn
@filters(JobState)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@options.output
def list_jobs(dsn: str | None, limit: int, output: str, **given: Any) -> None:
    """The newest jobs, finished ones too.

    \b
    howdah jobs list --state discarded --kind send_mail
    howdah jobs list --state unknown --older-than 1h
    howdah jobs list --error timeout --newer-than 2h
    howdah jobs list -o jsonl | jq .id
    """
    from howdah.cli import show
    from howdah.store.search import find

    wanted = chosen(given)
    with options.connected(dsn) as connections:
        found = connections.run(find(wanted, limit=limit))
        show.listing(found, output, table=_table_row)
        if not found:
            hint_at_names(connections, wanted)
        elif len(found) == limit and output == "table":
            click.echo(f"the newest {limit}; more with --limit", err=True)


def _table_row(row: dict[str, Any]) -> dict[str, Any]:
    from howdah.cli.show import shortened

    return {
        "id": row["id"],
        "state": row["state"],
        "kind": row["kind"],
        "queue": row["queue"],
        "attempts": f"{row['attempt']}/{row['max_attempts']}",
        "enqueued": row["created_at"],
        "due": row["run_at"] if row["state"] == JobState.SCHEDULED else None,
        "finished": row["finished_at"],
        "worker": row["worker"],
        "key": row["key"],
        "subject": row["subject"],
        "tags": ", ".join(row["tags"]) or None,
        "last error": shortened(row["error"]),
    }


@jobs.command("show")
@options.dsn
@click.argument("job_id", type=click.IntRange(1, 2**63 - 1))
@options.output
def show_job(dsn: str | None, job_id: int, output: str) -> None:
    """One job: its errors, what operators did with it, and why it is not running.

    \b
    howdah jobs show 42
    howdah jobs show 42 -o json | jq .errors[-1].traceback -r
    """
    from dataclasses import asdict

    from howdah.cli import job_page, show
    from howdah.store.jobs import audit, get, why_it_waits

    with options.connected(dsn) as connections:
        job = connections.run(get(job_id))
        reason = connections.run(why_it_waits(job_id))
        entries = connections.run(audit(job_id))
    if output == "table":
        for line in job_page.lines(job, reason, entries):
            click.echo(line)
    else:
        show.record({**asdict(job), "why_not_running": reason, "audit": entries}, output)
