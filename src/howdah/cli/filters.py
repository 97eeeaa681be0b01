"""The options that say which jobs a command means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from howdah.cli.options import duration
from howdah.model.job import JobState

if TYPE_CHECKING:
    from howdah.model.filter import Filter
    from howdah.store.connections import Connections

F = TypeVar("F", bound=Callable[..., Any])

NAMES = ("states", "kind", "queue", "key", "subject", "worker", "tag", "older_than", "newer_than", "error")


def filters(states: Iterable[JobState]) -> Callable[[F], F]:
    """The options of a filter; `--state` takes one of these."""
    options = (
        click.option(
            "--state",
            "states",
            type=click.Choice([state.value for state in states]),
            multiple=True,
            help="May be repeated.",
        ),
        click.option("--kind", help="Of this kind."),
        click.option("--queue", help="Of this queue."),
        click.option("--key", help="With this unique key."),
        click.option("--subject", help="About this subject."),
        click.option("--tag", help="With this tag."),
        click.option("--worker", help="Held by this worker, or last so; its full name, as workers list has it."),
        click.option("--older-than", type=duration, metavar="AGE", help="Enqueued before that: 30s, 10m, 2h, 7d."),
        click.option("--newer-than", type=duration, metavar="AGE", help="Enqueued since then, whenever it ended."),
        click.option("--error", metavar="TEXT", help="In the type or message of a failure; upper or lower case."),
    )

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def chosen(given: Mapping[str, Any]) -> Filter:
    """The filter of these options. Raises InvalidOption."""
    from howdah.model.filter import Filter

    return Filter(**{name: given[name] for name in NAMES})


def described(given: Mapping[str, Any]) -> str:
    """These options in words, but for the states: `kind send_mail, queue mail`."""
    from howdah.model.spoken import lasting

    said = {name: given[name] for name in NAMES if name != "states" and given[name] is not None}
    ages = {name: f"{name.replace('_', ' ')} {lasting(said[name])}" for name in said if name.endswith("_than")}
    return ", ".join(ages.get(name, f"{name} {value}") for name, value in said.items())


def hint_at_names(connections: Connections, wanted: Filter) -> None:
    """Where a filter found nothing: whether its kind or queue is one that nobody knows, and the nearest that is."""
    if wanted.kind is not None:
        from howdah.store.workers import known_kinds

        _hint("kind", wanted.kind, connections.run(known_kinds()), "no worker has registered")
    if wanted.queue is not None:
        from howdah.store.queues import names

        _hint("queue", wanted.queue, connections.run(names()), "no worker serves and no kind names")


def _hint(what: str, name: str, known: list[str], nobody: str) -> None:
    from howdah.cli.main import printable
    from howdah.model.nearest import nearest

    if name not in known:
        click.echo(printable(f"note: {nobody} {what} {name!r}{nearest(name, known)}"), err=True)
