"""`howdah enqueue`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from howdah.cli import options
from howdah.model.json_text import Unstorable, decode


@click.command()
@options.dsn
@click.argument("kind")
@click.argument("args", nargs=-1, metavar="[key=text] [key:=json]…")
@click.option("--queue", help="Default: its kind's, else default.")
@click.option("--priority", type=int, help="The lower number runs first.")
@click.option("--delay", type=float, metavar="SECONDS")
@click.option("--run-at", metavar="TIME", help="ISO 8601 with a time zone.")
@click.option("--expires-in", type=float, metavar="SECONDS", help="Expire if not begun by then.")
@click.option("--max-attempts", type=int)
@click.option("--key", help="At most one live job per kind and key.")
@click.option("--key-for", type=float, metavar="SECONDS", help="Hold the key for so long after the job has ended.")
@click.option("--subject", help="The newest job of a kind and subject supersedes the older ones.")
@click.option("--header", "headers", multiple=True, metavar="NAME=TEXT")
@click.option("--tag", "tags", multiple=True)
@options.output
def enqueue(dsn: str | None, kind: str, args: tuple[str, ...], output: str, **given: Any) -> None:
    """Enqueue a job by its kind's name.

    \b
    howdah enqueue send_mail to=a@example.com text=Hi
    howdah enqueue resize width:=640 'formats:=["webp", "avif"]' --delay 60 --key resize:42
    """
    from howdah import Client
    from howdah.cli import show
    from howdah.model.nearest import nearest
    from howdah.store.connections import Connections
    from howdah.store.workers import known_kinds

    chosen = {name: value for name, value in given.items() if value not in (None, ())}
    if "run_at" in chosen:
        chosen["run_at"] = _moment(chosen["run_at"])
    if "headers" in chosen:
        chosen["headers"] = dict(_pair(text, "--header") for text in chosen["headers"])
    with Client(dsn) as client:
        answer = client.enqueue(kind, dict(_argument(text) for text in args), **chosen)
    connections = Connections(dsn)
    try:
        known = connections.run(known_kinds())
    finally:
        connections.close()
    show.record({"id": answer.id, "created": answer.created}, output)
    if kind not in known:
        click.echo(f"note: no worker has registered kind {kind!r} yet{nearest(kind, known)}", err=True)


def _argument(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or name in ("", ":"):
        raise click.UsageError(f"{text!r}: say key=text or key:=json")
    if not name.endswith(":"):
        return name, value
    try:
        return name[:-1], decode(value)
    except Unstorable as problem:
        raise click.UsageError(f"{name[:-1]}:= needs JSON: {problem}") from None


def _pair(text: str, option: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise click.UsageError(f"{option} {text!r}: say NAME=TEXT")
    return name, value


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"--run-at {text!r}: say it as 2030-01-31T12:00:00+00:00") from None
