"""`howdah queues list|pause|resume`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from howdah.cli import options
from howdah.cli.groups import Verbs
from howdah.cli.main import printable

if TYPE_CHECKING:
    from howdah.store.operation import Operation


@click.group(cls=Verbs)
def queues() -> None:
    """List queues, pause and resume them."""


@queues.command("list")
@options.dsn
@options.output
def list_queues(dsn: str | None, output: str) -> None:
    """How each queue stands: what waits and since when, what runs, who serves it.

    \b
    howdah queues list
    howdah queues list -o json | jq '.[] | select(.workers == 0 and .available > 0)'
    """
    from howdah.cli import show
    from howdah.store.queues import every

    with options.connected(dsn) as connections:
        show.listing(connections.run(every()), output, table=_table_row)


def _table_row(row: dict[str, Any]) -> dict[str, Any]:
    numbers = ("available", "scheduled", "retrying", "running", "unknown")
    return {
        "queue": row["queue"],
        "paused": row["paused_at"],
        **{name: row[name] for name in numbers},
        "expired leases": row["leases_expired"] or None,
        "oldest waits": _seconds(row["oldest_available_age_seconds"]),
        "longest runs": _seconds(row["oldest_running_age_seconds"]),
        "next due": row["next_run_at"],
        "workers": row["workers"],
        "busy": f"{row['running']}/{row['slots']}",
    }


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:.0f} s"


@queues.command()
@options.dsn
@click.argument("names", nargs=-1, required=True, metavar="QUEUE...")
@options.output
def pause(dsn: str | None, names: tuple[str, ...], output: str) -> None:
    """Stop claims of queues in the whole database, until they are resumed. What runs goes on. Audited.

    \b
    howdah queues pause mail
    howdah queues pause mail sms -o json
    """
    from howdah.store.jobs import pause as step

    _switch(dsn, names, output, step, "paused", "was paused already")


@queues.command()
@options.dsn
@click.argument("names", nargs=-1, required=True, metavar="QUEUE...")
@options.output
def resume(dsn: str | None, names: tuple[str, ...], output: str) -> None:
    """Let paused queues be claimed again. Audited.

    \b
    howdah queues resume mail
    """
    from howdah.store.jobs import resume as step

    _switch(dsn, names, output, step, "resumed", "was not paused")


def _switch(
    dsn: str | None,
    names: tuple[str, ...],
    output: str,
    step: Callable[[str], Operation[bool]],
    done: str,
    not_done: str,
) -> None:
    """A queue that nobody knows is no error: it may be paused before its first job comes."""
    from howdah.cli import show
    from howdah.model.limits import check_name
    from howdah.model.nearest import nearest
    from howdah.store.queues import names as known_queues

    wanted = [check_name("queue", name) for name in dict.fromkeys(names)]
    with options.connected(dsn) as connections:
        known = connections.run(known_queues())
        answers = [{"queue": name, "changed": connections.run(step(name))} for name in wanted]
    if output == "table":
        for answer in answers:
            click.echo(printable(f"{answer['queue']} {done if answer['changed'] else not_done}"))
    else:
        show.listing(answers, output)
    for name in wanted:
        if name not in known:
            note = f"note: no worker serves and no kind names queue {name!r}{nearest(name, known)}"
            click.echo(printable(note), err=True)
