"""`howdah jobs tail`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from howdah.cli import options
from howdah.cli.filters import chosen, filters
from howdah.cli.main import complain
from howdah.model.job import JobState

if TYPE_CHECKING:
    from howdah.store.connections import Connections
    from howdah.store.following import Follower

FIELDS = ("at", "id", "kind", "queue", "state", "attempt", "excused", "max_attempts", "worker", "key", "subject",
          "error")  # fmt: skip


@click.command()
@options.dsn
@filters(JobState)
@click.option("--for", "seconds", type=options.duration, metavar="TIME", help="Stop after so long: 30s, 10m, 2h.")
@click.option("--limit", type=click.IntRange(min=1), help="Stop after so many lines.")
@click.option("--every", type=options.duration, default=1.0, metavar="TIME", help="Between looks. Default: 1s.")
@options.output
def tail(dsn: str | None, seconds: float | None, limit: int | None, every: float, output: str, **given: Any) -> None:
    """Follow jobs as they change, a line for each change, until Ctrl-C.

    Shows what matches the filter once it has changed. A state that a job leaves again between two looks is not seen.

    \b
    howdah jobs tail --queue mail
    howdah jobs tail --state discarded --state unknown -o jsonl
    howdah jobs tail --kind resize --for 10m --limit 100
    """
    from howdah.cli.show import as_json
    from howdah.store.following import Follower

    follower, kept = Follower(chosen(given)), []
    try:
        with options.connected(dsn) as connections:
            for number, change in enumerate(_changes(connections, follower, seconds, max(every, 0.01)), start=1):
                if output == "json":
                    kept.append(change)
                else:
                    click.echo(as_json(change) if output == "jsonl" else _line(change))
                if number == limit:
                    break
    except KeyboardInterrupt:
        pass
    if output == "json":
        click.echo(as_json(kept))


def _changes(
    connections: Connections, follower: Follower, seconds: float | None, every: float
) -> Iterator[dict[str, Any]]:
    from howdah.model.errors import Unreachable

    end = None if seconds is None else time.monotonic() + seconds
    connections.run(follower.look())  # an error here ends the command; later ones pass
    click.echo("following; Ctrl-C ends", err=True)
    away = False
    while end is None or time.monotonic() < end:
        _pause(every if end is None else max(0.0, min(every, end - time.monotonic())))
        try:
            found = connections.run(follower.look())
        except Unreachable as error:
            if not away:
                complain(f"{error}; trying again")
            away = True
            continue
        away = False
        yield from ({name: row[name] for name in FIELDS} for row in found)


def _pause(seconds: float) -> None:
    time.sleep(seconds)


def _line(change: dict[str, Any]) -> str:
    from howdah.cli.show import one_line, shortened

    counted = change["attempt"] - change["excused"]  # against the cap
    attempts = f"attempt {counted}/{change['max_attempts']}" if counted else ""
    worker = f"on {change['worker']}" if change["worker"] and change["state"] == JobState.RUNNING else ""
    error = shortened(change["error"]) if change["state"] not in (JobState.COMPLETED, JobState.RUNNING) else ""
    parts = (f"{change['at']:%H:%M:%S}", f"#{change['id']}", change["kind"], change["state"], attempts, worker, error)
    return one_line("  ".join(part for part in parts if part))
