"""`howdah demo`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from howdah.cli.main import FAILED

if TYPE_CHECKING:
    from howdah.demo.story import Summary


@click.command()
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path), required=False)
@click.pass_context
def demo(ctx: click.Context, path: Path | None) -> None:
    """Size, lines and SHA-256 of every file of a folder, by workers of which some are killed.

    PATH: default the tracked files of the checkout you stand in. Starts a PostgreSQL of its own, which needs the extra
    [embedded], and leaves no process behind. The exit status says whether every file has exactly one right row.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from howdah.demo import story

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(FAILED))  # so that everything is cleaned up, as after Ctrl-C

    console = Console()
    bar = Progress(
        TextColumn("files"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    task = bar.add_task("files", total=None, note="")

    def show(now: story.Progress) -> None:
        bar.update(task, total=now.files, completed=now.done, note=f"{now.leased} leased, {now.unknown} unknown")

    def tell(line: str) -> None:
        console.print(f"· {line}", markup=False, highlight=False, soft_wrap=True)

    with bar:
        summary = story.play(path, tell, show)
    _print(summary)
    if summary.problems:
        ctx.exit(FAILED)


def _print(summary: Summary) -> None:
    click.echo()
    for name, value in (
        ("jobs", f"{summary.jobs}, follow-ups included, in {summary.seconds:.1f} s with waits for expired leases"),
        ("jobs/s", f"{summary.undisturbed:.1f}, counting only files whose worker was not killed"),
        ("attempts", str(summary.attempts)),
        ("workers killed", f"{summary.killed} by us, {summary.restarts - summary.killed} by the poison job"),
        ("leases rescued", str(summary.rescued)),
        ("unknown", f"{summary.unknown}, of which resolved by asking the ledger: {summary.resolved}"),
        ("superseded", str(summary.superseded)),
        ("discarded", f"{summary.discarded}, at its cap"),
    ):
        click.echo(f"  {name:<15} {value}")
    click.echo()
    for problem in summary.problems[:20]:
        click.echo(f"  WRONG: {problem}")
    if not summary.problems:
        click.echo(
            f"  check held: each of {summary.files} files has exactly one row with the right size, lines and hash,"
        )
        click.echo("  and each parcel left exactly once")
