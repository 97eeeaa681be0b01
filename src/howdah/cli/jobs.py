"""`howdah jobs list|show`, and the group of all verbs for jobs."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

import click

from howdah.cli import bulk, options, tail
from howdah.cli.filters import chosen, filters, hint_at_names
from howdah.cli.groups import Verbs
from howdah.model.job import JobState

HELD = (JobState.RUNNING, JobState.UNKNOWN)


@click.group(cls=Verbs)
def jobs() -> None:
    """List, show and follow jobs; cancel, requeue and resolve them."""


for verb in (bulk.cancel, bulk.requeue, bulk.resolve, tail.tail):
    jobs.add_command(verb)


@jobs.command("list")
@options.dsn
@filters(JobState)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option(
    "--wide", is_flag=True, help="With worker, key, subject and tags, and wider than the terminal if need be."
)
@options.output
def list_jobs(dsn: str | None, limit: int, wide: bool, output: str, **given: Any) -> None:
    """The newest jobs, finished ones too.

    when: it ended, was claimed, became available or is due. attempts: those that count, of those it may have. Fits
    into the terminal; -o json has everything in full.

    \b
    howdah jobs list --state discarded --kind send_mail
    howdah jobs list --state unknown --older-than 1h
    howdah jobs list --error timeout --newer-than 2h
    howdah jobs list -o jsonl | jq .id
    """
    from howdah.cli import show
    from howdah.store.jobs import now
    from howdah.store.search import find

    wanted = chosen(given)
    with options.connected(dsn) as connections:
        found = connections.run(find(wanted, limit=limit))
        row = partial(_table_row, now=connections.run(now()), wide=wide)
        show.listing(found, output, table=row, spare=("enqueued",), whole=("id", "state", "when"), wide=wide)
        if not found:
            hint_at_names(connections, wanted)
        elif len(found) == limit and output == "table":
            click.echo(f"the newest {limit}; more with --limit", err=True)


def _table_row(row: dict[str, Any], now: datetime, wide: bool) -> dict[str, Any]:
    from howdah.cli.show import shortened
    from howdah.model.spoken import from_now

    since = row["finished_at"] or (row["claimed_at"] if row["state"] in HELD else row["run_at"])
    more = {name: row[name] for name in ("worker", "key", "subject")} | {"tags": ", ".join(row["tags"])}
    return {
        "id": row["id"],
        "state": row["state"],
        "when": from_now(since, now),
        "kind": row["kind"],
        "queue": row["queue"],
        "attempts": f"{row['attempt'] - row['excused']}/{row['max_attempts']}",
        "enqueued": from_now(row["created_at"], now),
        **(more if wide else {}),
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
    from howdah.store.jobs import audit, get, now, why_it_waits

    with options.connected(dsn) as connections:
        job = connections.run(get(job_id))
        reason = connections.run(why_it_waits(job_id))
        entries = connections.run(audit(job_id))
        moment = connections.run(now())
    if output == "table":
        for line in job_page.lines(job, reason, entries, moment):
            click.echo(line)
    else:
        show.record({**asdict(job), "why_not_running": reason, "audit": entries}, output)
