"""`howdah sweep`."""

from __future__ import annotations

import click

from howdah.cli import options


@click.command()
@options.dsn
@options.output
def sweep(dsn: str | None, output: str) -> None:
    """One pass of reaper, promoter and pruner; prints the counts.

    Workers do this each second by themselves; a database without a worker needs it from a timer.

    \b
    howdah sweep
    howdah sweep -o json
    """
    from howdah import Client
    from howdah.cli import show

    with Client(dsn) as client:
        show.record(dict(client.sweep()), output)
