"""What a command prints: tables for people, JSON for programs."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import click
import msgspec

from howdah.cli.main import printable

CELL = 80


def record(fields: Mapping[str, Any], output: str) -> None:
    """One thing with its fields."""
    if output != "table":
        click.echo(as_json(fields))
        return
    width = max(map(len, fields), default=0)
    for name, value in fields.items():
        click.echo(f"{name:<{width}}  {_cell(value)}".rstrip())


def listing(
    rows: Sequence[Mapping[str, Any]],
    output: str,
    *,
    table: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    spare: Sequence[str] = (),
    whole: Collection[str] = (),
    wide: bool = False,
) -> None:
    """Many things with the same fields; `table` makes of each what a person wants to see of it.

    `spare` are columns that a narrow terminal is spared, `whole` those that are never cut; `wide` cuts nothing.
    """
    if output == "json":
        click.echo(as_json(rows))
    elif output == "jsonl":
        for row in rows:
            click.echo(as_json(row))
    elif rows:
        from howdah.cli.table import lines

        cells = [{name: _cell(value) for name, value in table(dict(row)).items()} for row in rows]
        for line in lines(cells, None if wide else _room(), spare=spare, whole=whole):
            click.echo(line)
    else:
        click.echo("none")


def as_json(value: Any) -> str:
    """JSON of the same value without a character that a terminal would obey."""
    return "".join(c if c.isprintable() else _escaped(c) for c in msgspec.json.encode(value).decode())


def one_line(text: str) -> str:
    """Text out of the database in one line, so that it cannot pass for another row or field."""
    return printable(re.sub(r"\s*\n\s*", " ⏎ ", text).replace("\t", " "))


def shortened(text: str | None) -> str | None:
    """As much of a text as fits into a cell."""
    return text if text is None or len(text) <= CELL else f"{text[:CELL]}…"


def stamp(moment: datetime) -> str:
    """A moment in full."""
    return f"{moment:%Y-%m-%d %H:%M:%S%z}"


def _room() -> int | None:
    """How wide the terminal is; None: it is a pipe, which has no width to fit into."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return as_json(value)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))
