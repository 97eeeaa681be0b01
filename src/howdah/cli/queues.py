"""`howdah queues list|pause|resume`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from howdah.cli import options
from howdah.cli.groups import Verbs
from howdah.cli.main import FAILED, complain, printable

if TYPE_CHECKING:
    from howdah.store.operation import Operation

SPARE = ("due", "retrying", "runs", "scheduled")


@click.group(cls=Verbs)
def queues() -> None:
    """List queues, pause and resume them."""


@queues.command("list")
@options.dsn
@options.output
def list_queues(dsn: str | None, output: str) -> None:
    """How each queue stands: what waits and since when, what runs, who serves it.

    waits, runs: the one that has longest. busy: running jobs, of the slots of all workers. expired: leases that are
    over and wait for a sweep. -o json has the moments in full.

    \b
    howdah queues list
    howdah queues list -o json | jq '.[] | select(.workers == 0 and .available > 0)'
    """
    from howdah.cli import show
    from howdah.store.jobs import now
    from howdah.store.queues import every

    with options.connected(dsn) as connections:
        row = partial(_table_row, now=connections.run(now()))
        show.listing(connections.run(every()), output, table=row, spare=SPARE)


def _table_row(row: dict[str, Any], now: datetime) -> dict[str, Any]:
    from howdah.model.spoken import brief, from_now

    def age(name: str) -> str | None:
        return None if row[name] is None else brief(row[name])

    return {
        "queue": row["queue"],
        "paused": row["paused_at"] and from_now(row["paused_at"], now),
        "available": row["available"],
        "waits": age("oldest_available_age_seconds"),
        "scheduled": row["scheduled"],
        "due": row["next_run_at"] and from_now(row["next_run_at"], now),
        "retrying": row["retrying"] or None,
        "busy": f"{row['running']}/{row['slots']}",
        "runs": age("oldest_running_age_seconds"),
        "expired": row["leases_expired"] or None,
        "unknown": row["unknown"] or None,
        "workers": row["workers"],
    }


@queues.command()
@options.dsn
@click.argument("names", nargs=-1, required=True, metavar="QUEUE...")
@click.option("--force", is_flag=True, help="Also one that has no job, worker or kind yet.")
@options.output
def pause(dsn: str | None, names: tuple[str, ...], force: bool, output: str) -> None:
    """Stop claims of queues in the whole database, until they are resumed. What runs goes on. Audited.

    \b
    howdah queues pause mail
    howdah queues pause mail sms -o json
    """
    from howdah.store.jobs import pause as step

    _switch(dsn, names, output, step, "paused", "was paused already", must_exist=not force)


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
    *,
    must_exist: bool = False,
) -> None:
    from howdah.cli import show
    from howdah.model.limits import check_name
    from howdah.store.queues import unheard_of

    wanted = [check_name("queue", name) for name in dict.fromkeys(names)]
    with options.connected(dsn) as connections:
        notes = [
            f"no worker serves and no kind names queue {name!r}{near}"
            for name, near in connections.run(unheard_of(wanted)).items()
        ]
        if must_exist and notes:
            complain("; ".join(notes), "nothing was changed; --force pauses it nevertheless")
            click.get_current_context().exit(FAILED)
        answers = [{"queue": name, "changed": connections.run(step(name))} for name in wanted]
    if output == "table":
        for answer in answers:
            click.echo(printable(f"{answer['queue']} {done if answer['changed'] else not_done}"))
    else:
        show.listing(answers, output)
    for note in notes:
        click.echo(printable(f"note: {note}"), err=True)
