"""`howdah kinds list|set|reset`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from howdah.cli import options
from howdah.cli.groups import Verbs
from howdah.cli.main import FAILED, complain, printable
from howdah.cli.options import duration

# The policy's parts, in the order in which they are shown.
PARTS = ("queue", "max_attempts", "retry_base", "retry_factor", "retry_cap", "retry_jitter", "lease", "on_crash",
         "on_supersede", "on_discard", "on_unknown")  # fmt: skip
SPARE = ("on supersede", "on unknown", "on discard", "lease")


@click.group(cls=Verbs)
def kinds() -> None:
    """The policies of kinds: list, set and reset them."""


@kinds.command("list")
@options.dsn
@options.output
def list_kinds(dsn: str | None, output: str) -> None:
    """The policy of each kind that is in force.

    pinned: an operator has set it, and workers do not change it. -o json has what the code declares, too.

    \b
    howdah kinds list
    howdah kinds list -o json | jq '.[] | select(.pinned)'
    """
    from howdah.cli import show
    from howdah.store.kinds import every

    with options.connected(dsn) as connections:
        show.listing(connections.run(every()), output, table=_table_row, spare=SPARE)


def _table_row(row: dict[str, Any]) -> dict[str, Any]:
    jitter = f" ±{row['retry_jitter']:.0%}" if row["retry_jitter"] else ""
    return {
        "kind": row["kind"],
        "queue": row["queue"],
        "attempts": row["max_attempts"],
        "retry": f"{row['retry_base']:g} s, *{row['retry_factor']:g}, to {row['retry_cap']:g} s{jitter}",
        "lease": f"{row['lease']:g} s",
        "on crash": row["on_crash"],
        "on supersede": row["on_supersede"],
        "on discard": row["on_discard"],
        "on unknown": row["on_unknown"],
        "pinned": row["pinned"] or None,
    }


@kinds.command("set")
@options.dsn
@click.argument("kind")
@click.option("--queue", help="Where its jobs go that name none.")
@click.option("--max-attempts", type=int, help="The cap of attempts, crashes included.")
@click.option("--retry-base", type=duration, metavar="TIME", help="The delay before the first retry: 5s, 1m.")
@click.option("--retry-factor", type=float, help="By how much each further delay grows.")
@click.option("--retry-cap", type=duration, metavar="TIME", help="The longest delay.")
@click.option("--retry-jitter", type=float, help="By what part of itself a delay varies, from 0 to 1.")
@click.option("--lease", type=duration, metavar="TIME", help="How long a claim is good for without a heartbeat.")
@click.option("--on-crash", type=click.Choice(["retry", "discard", "unknown"]), help="When its worker has vanished.")
@click.option("--on-supersede", type=click.Choice(["cancel", "finish"]), help="When a newer job of its subject comes.")
@click.option("--on-discard", metavar="KIND", help="The kind of the job that follows a discarded one.")
@click.option("--no-on-discard", is_flag=True, help="Nothing follows.")
@click.option("--on-unknown", metavar="KIND", help="The kind of the job that follows an unknown one.")
@click.option("--no-on-unknown", is_flag=True, help="Nothing follows.")
@click.option("--note", metavar="TEXT", help="Why; kept in the audit.")
@options.output
def set_kind(dsn: str | None, kind: str, note: str | None, output: str, **given: Any) -> None:
    """Change parts of a kind's policy, at once and for all workers.

    It stays whatever the code declares, until howdah kinds reset. Audited.

    \b
    howdah kinds set send_mail --max-attempts 3 --retry-base 30s
    howdah kinds set charge --on-crash unknown --max-attempts 1 --note "provider is down"
    """
    from howdah.cli import show
    from howdah.store.kinds import change
    from howdah.store.workers import known_kinds

    changes = _changes(given)
    with options.connected(dsn) as connections:
        known = connections.run(known_kinds())
        row = connections.run(change(kind, changes, note))
    show.record(row if output != "table" else _beside_the_code(row), output)
    if kind not in known:
        from howdah.model.nearest import nearest

        note = f"note: no worker has registered kind {kind!r} yet{nearest(kind, known)}; kinds reset takes this back"
        click.echo(printable(note), err=True)


def _beside_the_code(row: Mapping[str, Any]) -> dict[str, Any]:
    """What is in force, of a kind that code has declared only what differs from it."""
    declared = row["declared"]
    if declared is None:
        return {"kind": row["kind"], **{name: row[name] for name in PARTS}}
    other = {name: row[name] for name in PARTS if name in declared and row[name] != declared[name]}
    said = {name: f"{_or_none(value)}  (its code: {_or_none(declared[name])})" for name, value in other.items()}
    return {"kind": row["kind"]} | (said or {"policy": "as its code declares it, and it stays so"})


def _or_none(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _changes(given: dict[str, Any]) -> dict[str, Any]:
    changes = {name: value for name, value in given.items() if value is not None and not name.startswith("no_")}
    for name in ("on_discard", "on_unknown"):
        if given[f"no_{name}"]:
            if name in changes:
                flag = name.replace("_", "-")
                raise click.UsageError(f"say either --{flag} or --no-{flag}, not both")
            changes[name] = None
    if not changes:
        raise click.UsageError("say what to set: --max-attempts 3, for example; --help lists everything")
    return changes


@kinds.command("reset")
@options.dsn
@click.argument("kind")
@click.option("--note", metavar="TEXT", help="Why; kept in the audit.")
@options.output
@click.pass_context
def reset_kind(ctx: click.Context, dsn: str | None, kind: str, note: str | None, output: str) -> None:
    """Let a kind's policy be what its code last declared. Audited.

    \b
    howdah kinds reset send_mail
    """
    from howdah.cli import show
    from howdah.model.nearest import nearest
    from howdah.store.kinds import reset
    from howdah.store.workers import known_kinds

    with options.connected(dsn) as connections:
        known = connections.run(known_kinds())
        found = connections.run(reset(kind, note))
    if kind not in known:
        complain(f"no kind {kind!r} is known{nearest(kind, known)}; see howdah kinds list")
        ctx.exit(FAILED)
    if output != "table":
        show.record({"kind": kind, "changed": bool(found), "policy": found and found["declared"]}, output)
    elif not found:
        click.echo(printable(f"{kind} was not set: nothing to reset"))
    elif found["declared"]:
        show.record({"kind": kind, **{name: found["declared"].get(name) for name in PARTS}}, output)
    else:
        click.echo(printable(f"{kind} is forgotten: no code has declared it"))
