"""`howdah enqueue`."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import click

from howdah.cli import options
from howdah.cli.main import printable
from howdah.cli.options import duration


@click.command()
@options.dsn
@click.argument("kind")
@click.argument("args", nargs=-1, metavar="[key=text] [key:=json]...")
@click.option("--queue", help="Default: its kind's, else default.")
@click.option("--priority", type=int, help="The lower number runs first; default 0.")
@click.option("--delay", type=duration, metavar="TIME", help="Not before: 30, 10m, 2h, 7d from now.")
@click.option("--run-at", metavar="MOMENT", help="Not before: 2030-01-31T12:00:00+00:00, with a time zone.")
@click.option("--expires-in", type=duration, metavar="TIME", help="Expire if not claimed by then.")
@click.option("--max-attempts", type=int, help="Instead of its kind's.")
@click.option("--key", help="At most one live job per kind and key.")
@click.option("--key-for", type=duration, metavar="TIME", help="Hold the key for so long after the job has ended.")
@click.option("--subject", help="The newest job of a kind and subject supersedes the older ones.")
@click.option("--header", "headers", multiple=True, metavar="NAME=TEXT", help="May be repeated.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="To find it by; may be repeated.")
@options.output
def enqueue(dsn: str | None, kind: str, args: tuple[str, ...], output: str, **given: Any) -> None:
    """Enqueue a job by its kind's name.

    key=text gives text, key:=json any JSON value. The args are not held against the handler here: its code is not.

    \b
    howdah enqueue send_mail to=a@example.com text=Hi
    howdah enqueue resize width:=640 'formats:=["webp", "avif"]' --delay 10m --key resize:42
    howdah enqueue report --run-at 2030-01-31T06:00:00+01:00 --tag monthly
    """
    from howdah.cli import show
    from howdah.client import calls
    from howdah.model.nearest import nearest
    from howdah.store.enqueueing import enqueue as enqueueing
    from howdah.store.workers import known_kinds

    job = calls.new(kind, _once(map(_argument, args), "args"), _options(given))
    with options.connected(dsn) as connections:
        answer = connections.run(enqueueing(job))
        known = connections.run(known_kinds())
    if output != "table":
        show.record({"id": answer.id, "created": answer.created}, output)
    elif answer.created:
        click.echo(f"enqueued job {answer.id}")
    else:
        click.echo(f"job {answer.id} holds this key: nothing was enqueued")
    if kind not in known:
        click.echo(printable(f"note: no worker has registered kind {kind!r} yet{nearest(kind, known)}"), err=True)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    chosen = {name: value for name, value in given.items() if value not in (None, ())}
    if "run_at" in chosen:
        chosen["run_at"] = _moment(chosen["run_at"])
    if "headers" in chosen:
        chosen["headers"] = _once((_pair(text) for text in chosen["headers"]), "--header")
    return chosen


def _argument(text: str) -> tuple[str, Any]:
    name, separator, value = text.partition("=")
    if not separator or name in ("", ":"):
        raise click.UsageError(f"{text!r}: say key=text or key:=json")
    if not name.endswith(":"):
        return name, value
    from howdah.model.json_text import Unstorable, decode

    try:
        return name[:-1], decode(value)
    except Unstorable as problem:
        raise click.UsageError(f"{name[:-1]}:= needs JSON: {problem}") from None


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise click.UsageError(f"--header {text!r}: say NAME=TEXT")
    return name, value


def _once(pairs: Iterable[tuple[str, Any]], what: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise click.UsageError(f"{what}: {name!r} is given twice")
        found[name] = value
    return found


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"--run-at {text}: say it as 2030-01-31T12:00:00+00:00") from None
    if moment.tzinfo is None:
        raise click.UsageError(f"--run-at {text}: in which time zone? Say it as {text}+00:00")
    return moment
