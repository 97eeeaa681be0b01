"""`howdah jobs cancel|requeue|resolve`: what an operator does with jobs, one or many."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from howdah.cli import options
from howdah.cli.filters import chosen, described, filters, hint_at_names
from howdah.cli.main import FAILED, printable
from howdah.model.job import FINAL, UNSTARTED, JobState

if TYPE_CHECKING:
    from howdah.store.bulk import Answers
    from howdah.store.connections import Connections
    from howdah.store.operation import Procedure

ID = click.IntRange(1, 2**63 - 1)
# Cancelled together, in one statement; the others take each job by itself, so that an interruption leaves one in doubt.
BATCH = 200
CANCELLABLE = sorted({*UNSTARTED, JobState.RUNNING})
REQUEUABLE = sorted(FINAL)


def _selecting(states: Sequence[JobState]) -> Callable[[Any], Any]:
    """The arguments of a verb that takes ids or a filter."""

    def decorate(command: Any) -> Any:
        for option in (
            options.output,
            click.option("--yes", is_flag=True, help="Do not ask."),
            click.option("--limit", type=click.IntRange(min=1), help="At most so many, the oldest first."),
            click.option("--all", "every", is_flag=True, help="All of them, where no filter is given."),
            filters(states),
            click.argument("ids", nargs=-1, type=ID, metavar="[ID]..."),
            options.dsn,
        ):
            command = option(command)
        return command

    return decorate


@click.command()
@_selecting(CANCELLABLE)
def cancel(**given: Any) -> None:
    """Cancel jobs that have not begun, and ask the handlers of running ones to end.

    By ids or by a filter. Says how many match and asks first; each is audited. Exit status 1 where one could not be.

    \b
    howdah jobs cancel 42 43
    howdah jobs cancel --queue mail --state scheduled --older-than 2h
    howdah jobs cancel --all --yes
    """
    from howdah.store.bulk import cancel as step

    _perform("cancel", step, CANCELLABLE, **given)


@click.command()
@_selecting(REQUEUABLE)
def requeue(**given: Any) -> None:
    """Put final jobs back, with a fresh budget of attempts.

    By ids or by a filter, which means discarded jobs unless it says --state. Says how many match and asks first; each
    is audited. Exit status 1 where one could not be: its key is held, or a newer job of its subject is unfinished.

    \b
    howdah jobs requeue 42 43
    howdah jobs requeue --kind send_mail --error timeout --newer-than 1d
    howdah jobs requeue --state cancelled --queue mail --limit 100 --yes
    """
    from howdah.store.bulk import requeue as step

    _perform("requeue", step, [JobState.DISCARDED], **given)


@click.command()
@options.dsn
@click.argument("ids", nargs=-1, type=ID, metavar="ID...", required=True)
@click.option("--as", "state", type=click.Choice(["completed", "discarded", "available"]), required=True)
@click.option("--note", required=True, metavar="TEXT", help="How you know; kept in the audit.")
@options.output
def resolve(dsn: str | None, ids: tuple[int, ...], state: str, note: str, output: str) -> None:
    """Say how unknown jobs ended, or let them run again with a fresh budget of attempts.

    \b
    howdah jobs list --state unknown
    howdah jobs resolve 42 --as completed --note "the parcel is in the ledger"
    howdah jobs resolve 43 44 --as available --note "nothing was sent"
    """
    from howdah.model.limits import MAX_NOTE, check_name
    from howdah.store.bulk import resolve as step

    check_name("note", note, limit=MAX_NOTE)
    with options.connected(dsn) as connections:
        _run("resolve", connections, lambda batch: step(batch, JobState(state), note), _once(ids), output)


def _perform(
    verb: str,
    step: Callable[[Sequence[int]], Procedure[Answers]],
    by_default: Sequence[JobState],
    *,
    dsn: str | None,
    ids: tuple[int, ...],
    every: bool,
    limit: int | None,
    yes: bool,
    output: str,
    **given: Any,
) -> None:
    wanted = chosen(given)
    if ids and (every or limit or not wanted.is_empty):
        raise click.UsageError("say either ids or a filter, not both")
    if not ids and not every and wanted.is_empty:
        raise click.UsageError(f"say which jobs to {verb}: ids, a filter such as --queue or --kind, or --all")
    with options.connected(dsn) as connections:
        found = _once(ids)
        if not ids:
            given["states"] = given["states"] or tuple(by_default)
            found = _match(verb, connections, given, limit)
            if found and not yes:
                _confirm(verb)
        _run(verb, connections, step, found, output)


def _match(verb: str, connections: Connections, given: dict[str, Any], limit: int | None) -> list[int]:
    """The ids are taken once: what becomes of a job meanwhile does not make it match again."""
    from howdah.model.spoken import counted
    from howdah.store.search import find_ids

    found = connections.run(find_ids(chosen(given), limit=limit))
    states = Counter(found.values())
    what = ", ".join(f"{states[state]} {state}" for state in sorted(states)) or f"none {' or '.join(given['states'])}"
    said = "; ".join(filter(None, (what, described(given))))
    click.echo(printable(f"{counted(len(found), 'job')} to {verb}: {said}"), err=True)
    if not found:
        hint_at_names(connections, chosen(given))
    return list(found)


def _confirm(verb: str) -> None:
    if not _can_ask():
        raise click.UsageError(f"nobody can be asked here: add --yes to {verb} them")
    try:
        if click.confirm(f"{verb} them?", err=True):
            return
    except click.Abort:
        click.echo(err=True)
    click.echo("nothing was changed", err=True)
    click.get_current_context().exit(FAILED)


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _run(
    verb: str,
    connections: Connections,
    step: Callable[[Sequence[int]], Procedure[Answers]],
    ids: Sequence[int],
    output: str,
) -> None:
    from howdah.cli.bulk_summary import Summary
    from howdah.model.errors import Unreachable
    from howdah.model.source_errors import NothingSent

    summary = Summary(verb, len(ids))
    try:
        with _progress(verb, len(ids)) as advance:
            size = BATCH if verb == "cancel" else 1
            for start in range(0, len(ids), size):
                batch = ids[start : start + size]
                summary.add(connections.run_procedure(step(batch)))
                advance(len(batch))
    except Exception as error:
        summary.in_doubt = isinstance(error, Unreachable) and not isinstance(error, NothingSent)
        raise
    finally:  # also after Ctrl-C, or when the database has gone
        summary.show(output)
    if summary.refused:
        click.get_current_context().exit(FAILED)


@contextmanager
def _progress(verb: str, total: int) -> Iterator[Callable[[int], None]]:
    if total <= BATCH or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(verb, total=total)
        yield lambda done: progress.advance(bar, done)


def _once(ids: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(ids))
