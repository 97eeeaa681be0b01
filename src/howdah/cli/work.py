"""`howdah worker` and `howdah drain`."""

from __future__ import annotations

import logging
import signal
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from howdah.cli import options
from howdah.cli.main import FAILED

if TYPE_CHECKING:
    from howdah import Worker

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


@click.command()
@options.dsn
@options.modules
@options.queues
@click.option(
    "--grace",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    envvar="HOWDAH_GRACE",
    help="Seconds a stop may take.",
)
@click.option(
    "--poll",
    type=click.FloatRange(min=0.01),
    default=1.0,
    show_default=True,
    envvar="HOWDAH_POLL",
    help="Seconds between looks.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    envvar="HOWDAH_THREADS",
    help="Sync handlers at once. Default: as many as slots.",
)
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", envvar="HOWDAH_LOG_LEVEL"
)
def worker(
    dsn: str | None,
    modules: tuple[str, ...],
    queues: tuple[str, ...],
    grace: float,
    poll: float,
    threads: int | None,
    log_level: str,
) -> None:
    """Run a worker until SIGTERM, which stops it gracefully; a second one abandons what runs.

    \b
    howdah worker -m shop.jobs -q mail:10 -q default:5
    howdah worker -m shop.jobs:worker      a Worker that the module has built
    """
    logging.basicConfig(level=log_level.upper(), format=LOG_FORMAT)
    built = _worker(dsn, modules, queues, grace=grace, poll=poll, threads=threads)
    _ignore_late_signals()
    built.run()


@click.command()
@options.dsn
@options.modules
@options.queues
@click.option("--limit", type=click.IntRange(min=1), help="At most this many attempts.")
@click.option("--timeout", type=click.FloatRange(min=0), help="Stop after this many seconds.")
@click.option("--strict", is_flag=True, help="Exit status 1 if a job was discarded.")
@options.output
@click.pass_context
def drain(
    ctx: click.Context,
    dsn: str | None,
    modules: tuple[str, ...],
    queues: tuple[str, ...],
    limit: int | None,
    timeout: float | None,
    strict: bool,
    output: str,
) -> None:
    """Sweep once, run what is available, and exit: for services that scale to zero. Never waits for a backoff.

    \b
    howdah drain -m shop.jobs --timeout 50
    """
    from howdah.cli import show

    logging.basicConfig(level=logging.WARNING, format=LOG_FORMAT)
    built = _worker(dsn, modules, queues)
    _ignore_late_signals()
    drained = built.drain(limit=limit, timeout=timeout)
    show.record(asdict(drained), output)
    if strict and drained.discarded:
        ctx.exit(FAILED)


def _ignore_late_signals() -> None:
    """One that comes after the worker has ended must not turn its exit status into a failure."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _worker(dsn: str | None, modules: tuple[str, ...], queues: tuple[str, ...], **settings: Any) -> Worker:
    from howdah import Worker
    from howdah.client.discovery import handlers_of

    loaded = [_load(name) for name in modules]
    for module, name in zip(loaded, modules, strict=True):
        if not isinstance(module, Worker) and not handlers_of([module]):
            raise click.UsageError(f"-m {name}: defines no kind; @job makes one of a function")
    built = [found for found in loaded if isinstance(found, Worker)]
    if not built:
        try:
            return Worker(dsn, loaded, queues=options.parse_queues(queues), **settings)
        except (TypeError, ValueError) as error:
            raise click.UsageError(str(error)) from error
    given = click.get_current_context().get_parameter_source
    told = [name for name in ("dsn", "queues", *settings) if given(name) not in (None, ParameterSource.DEFAULT)]
    if len(loaded) > 1 or told:
        raise click.UsageError(
            f"-m MODULE:NAME names a Worker that is built already: give it alone, without {', '.join(told) or '-m'}"
        )
    return built[0]


def _load(name: str) -> Any:
    module_name, _, attribute = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and not module_name.startswith(error.name):
            raise
        raise click.UsageError(f"-m {module_name}: no such module here or on PYTHONPATH") from None
    if not attribute:
        return module
    from howdah import Worker

    found = getattr(module, attribute, None)
    if not isinstance(found, Worker):
        raise click.UsageError(f"-m {name}: {attribute} is not a Worker of {module_name}")
    return found
