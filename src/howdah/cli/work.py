"""`howdah worker` and `howdah drain`."""

from __future__ import annotations

import logging
import os
import signal
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from howdah.cli import options
from howdah.cli.main import FAILED
from howdah.cli.modules import load
from howdah.model.errors import HowdahError
from howdah.supervise import lifeline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from howdah import Worker

LAST_THREADS = 0.15  # seconds beyond the grace period for what handlers have left behind


def _to_the_environment(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    """Where the worker looks for it, and the processes that a supervisor starts."""
    if value is not None:
        os.environ["HOWDAH_LISTEN_DSN"] = value


@click.command()
@options.dsn
@click.option(
    "--listen-dsn",
    metavar="DSN",
    expose_value=False,
    callback=_to_the_environment,
    help="Where to listen for wake-ups, past a pooler in transaction mode. Default: $HOWDAH_LISTEN_DSN, else the DSN.",
)
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
    "--processes",
    type=click.IntRange(1, 500),
    envvar="HOWDAH_PROCESSES",
    metavar="N",
    help="So many workers in processes of their own, which a supervisor restarts. Default: none, this one works.",
)
@click.option(
    "--health-port",
    type=click.IntRange(0, 65535),
    envvar="HOWDAH_HEALTH_PORT",
    metavar="PORT",
    help="Answer GET /healthz and /readyz there: 200 or 503, with the reason in JSON.",
)
@click.option("--health-host", default="127.0.0.1", show_default=True, envvar="HOWDAH_HEALTH_HOST", metavar="ADDRESS")
@click.option(
    "--log-level", type=click.Choice(["debug", "info", "warning", "error"]), default="info", envvar="HOWDAH_LOG_LEVEL"
)
@click.option(lifeline.OPTION, "descriptor", type=int, hidden=True)
@click.option("--every-queue", is_flag=True, hidden=True)
@click.pass_context
def worker(
    ctx: click.Context,
    /,
    processes: int | None,
    health_port: int | None,
    health_host: str,
    log_level: str,
    descriptor: int | None,
    **settings: Any,
) -> None:
    """Run a worker until SIGTERM, which stops it gracefully; a second one abandons what runs.

    With --processes a supervisor keeps N of them running, each with the slots of -q. SIGHUP replaces them one by one.

    \b
    howdah worker -m shop.jobs -q mail:10 -q default:5
    howdah worker -m shop.jobs --processes 4
    howdah worker -m shop.jobs:worker      a Worker that the module has built
    """
    log_to_stderr(log_level, "" if descriptor is None else "%(process)d ")
    health = None if health_port is None else (health_host, health_port)
    if processes:
        from howdah.cli import processes as supervised

        ctx.exit(supervised.run(ctx, processes))
    elif descriptor is not None:
        _run_supervised(lifeline.Lifeline(descriptor), health, settings)
    else:
        _run(_worker(**settings), health)


def _run(built: Worker, health: tuple[str, int] | None) -> None:
    from howdah.app.process import leave_within

    with _heeding_signals(built), _answering(built, health):
        built.run()
    leave_within(built.grace_left() + LAST_THREADS)


@contextmanager
def _answering(built: Worker, health: tuple[str, int] | None) -> Iterator[None]:
    """Say over HTTP how it is, if that is wanted."""
    if health is None:
        yield
        return

    from howdah.app.health import answer
    from howdah.supervise.endpoint import Endpoint

    host, port = health
    try:
        endpoint = Endpoint(lambda path: answer(path, built.health()), host=host, port=port)
    except OSError as error:
        raise click.ClickException(f"--health-port {port}: {error}") from None
    with endpoint:
        yield


def _run_supervised(line: lifeline.Lifeline, health: tuple[str, int] | None, settings: dict[str, Any]) -> None:
    """Run it as one of a supervisor's, who is told whether it can run at all."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the imports is no traceback
    try:
        built = _worker(**settings)
    except BaseException:
        line.refused()
        raise
    line.loaded(built.grace_left())
    try:
        _run(built, health)
    except Exception as error:
        # These come at the start alone: later the database may come and go.
        if isinstance(error, HowdahError) or hasattr(error, "sqlstate"):
            line.refused()
        raise


def log_to_stderr(level: str, process: str = "") -> None:
    """Log as the worker does."""
    logging.basicConfig(level=level.upper(), format=f"%(asctime)s {process}%(levelname)s %(name)s: %(message)s")


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
    from howdah.app.process import leave_within
    from howdah.cli import show

    log_to_stderr("warning")
    built = _worker(dsn, modules, queues)
    with _heeding_signals(built):
        drained = built.drain(limit=limit, timeout=timeout)
    show.record(asdict(drained), output)
    status = FAILED if strict and drained.discarded else 0
    leave_within(built.grace_left() + LAST_THREADS, status)
    ctx.exit(status)


@contextmanager
def _heeding_signals(built: Worker) -> Iterator[None]:
    """One that comes before the worker has its own handlers stops it; one after its end must not be a failure."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: built.stop())
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)


def _worker(
    dsn: str | None, modules: tuple[str, ...], queues: tuple[str, ...], every_queue: bool = False, **settings: Any
) -> Worker:
    from howdah import Worker
    from howdah.client.discovery import handlers_of

    loaded = [load(name) for name in modules]
    for module, name in zip(loaded, modules, strict=True):
        if not isinstance(module, Worker) and not handlers_of([module]):
            raise click.UsageError(f"-m {name}: defines no kind; @job makes one of a function")
    built = [found for found in loaded if isinstance(found, Worker)]
    if not built:
        try:
            slots = options.parse_queues(queues)
            if every_queue and slots is None:
                slots = {"default": 10} | {kind.policy.queue: 10 for kind in handlers_of(loaded).values()}
            return Worker(dsn, loaded, queues=slots, **settings)
        except (TypeError, ValueError) as error:
            raise click.UsageError(str(error)) from error
    given = click.get_current_context().get_parameter_source
    told = [name for name in ("dsn", "queues", *settings) if given(name) not in (None, ParameterSource.DEFAULT)]
    if len(loaded) > 1 or told:
        raise click.UsageError(
            f"-m MODULE:NAME names a Worker that is built already: give it alone, without {', '.join(told) or '-m'}"
        )
    return built[0]
