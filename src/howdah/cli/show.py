"""What a command prints: tables for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import click
import msgspec

from howdah.cli.main import printable

PIPE_WIDTH = 500


def record(fields: Mapping[str, Any], output: str) -> None:
    """One thing with its fields."""
    if output != "table":
        click.echo(_json(fields))
        return
    width = max(map(len, fields), default=0)
    for name, value in fields.items():
        click.echo(f"{name:<{width}}  {_cell(value)}")


def listing(rows: Sequence[Mapping[str, Any]], output: str) -> None:
    """Many things with the same fields."""
    if output == "json":
        click.echo(_json(rows))
    elif output == "jsonl":
        for row in rows:
            click.echo(_json(row))
    elif rows:
        _table(rows)
    else:
        click.echo("none")


def _table(rows: Sequence[Mapping[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row.values()))
    console = Console()
    if not console.is_terminal:  # a pipe has no width to fit into
        console.width = PIPE_WIDTH
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S%z}"
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bool | int | float):
        return str(value)
    return printable(_json(value))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
