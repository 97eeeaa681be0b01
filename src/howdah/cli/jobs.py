"""`howdah jobs list|show`."""

from __future__ import annotations

import click

from howdah.cli import options
from howdah.model.job import JobState


@click.group()
def jobs() -> None:
    """List and show jobs."""


@jobs.command("list")
@options.dsn
@click.option("--state", type=click.Choice([state.value for state in JobState]), multiple=True)
@click.option("--kind")
@click.option("--queue")
@click.option("--key")
@click.option("--subject")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@options.output
def list_jobs(
    dsn: str | None,
    state: tuple[str, ...],
    kind: str | None,
    queue: str | None,
    key: str | None,
    subject: str | None,
    limit: int,
    output: str,
) -> None:
    """The newest jobs, finished ones too.

    \b
    howdah jobs list --state discarded --kind send_mail
    howdah jobs list -o jsonl | jq .id
    """
    from howdah.cli import show
    from howdah.store.connections import Connections
    from howdah.store.search import find

    connections = Connections(dsn)
    try:
        found = connections.run(find(states=state, limit=limit, kind=kind, queue=queue, key=key, subject=subject))
    finally:
        connections.close()
    show.listing([dict(row) for row in found], output)


@jobs.command("show")
@options.dsn
@click.argument("job_id", type=int)
@options.output
def show_job(dsn: str | None, job_id: int, output: str) -> None:
    """One job, with its errors, and why it is not running."""
    from dataclasses import asdict

    from howdah.cli import show
    from howdah.store.connections import Connections
    from howdah.store.jobs import get, why_not_running

    connections = Connections(dsn)
    try:
        job = connections.run(get(job_id))
        reason = connections.run(why_not_running(job_id))
    finally:
        connections.close()
    show.record({**asdict(job), "why_not_running": reason}, output)
