"""Options that many commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from howdah.store.connections import Connections

F = TypeVar("F", bound=Callable[..., Any])

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


def duration(text: str) -> float:
    """Seconds, from 30, 1.5, 30s, 10m, 2h, 7d or 1w: the type of an option."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw]?)", str(text).strip(), re.ASCII)
    if not found:
        raise click.BadParameter(f"{text!r} is no duration: say 30s, 10m, 2h or 7d; a bare number is seconds")
    return float(found[1]) * _UNITS[found[2]]


@contextmanager
def connected(dsn: str | None) -> Iterator[Connections]:
    """Connections of this command, closed at its end."""
    from howdah.store.connections import Connections

    connections = Connections(dsn)
    try:
        yield connections
    finally:
        connections.close()


def dsn(command: F) -> F:
    """`--dsn`, or HOWDAH_DSN, which does not show in the process list."""
    return click.option("--dsn", metavar="DSN", help="Where PostgreSQL is. Default: $HOWDAH_DSN.")(command)


def output(command: F) -> F:
    """`-o table|json|jsonl`."""
    return click.option(
        "-o", "--output", type=click.Choice(["table", "json", "jsonl"]), default="table", show_default=True
    )(command)


def modules(command: F) -> F:
    """`-m MODULE`, more than once."""
    return click.option(
        "-m",
        "--module",
        "modules",
        multiple=True,
        required=True,
        metavar="MODULE",
        help="A module whose kinds to run, or MODULE:NAME of a Worker built there.",
    )(command)


def queues_by_default(what: str) -> Callable[[F], F]:
    """`-q QUEUE[:SLOTS]`, more than once."""
    return click.option(
        "-q", "--queue", "queues", multiple=True, metavar="QUEUE[:SLOTS]", help=f"May be repeated. Default: {what}."
    )


queues = queues_by_default("default:10")


def parse_queues(given: tuple[str, ...]) -> dict[str, int] | None:
    """`("mail:10", "bulk")` as queue → slots, ten where nothing is said. Raises UsageError."""
    found: dict[str, int] = {}
    for text in given:
        name, colon, slots = text.rpartition(":")
        if not colon:
            name, slots = text, "10"
        if not name or not slots.isdecimal() or int(slots) < 1:
            raise click.UsageError(f"-q {text}: say QUEUE:SLOTS, with at least one slot")
        found[name] = int(slots)
    return found or None
