"""`howdah worker --processes N`: the same command once more for each process."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from howdah.cli.main import FAILED, complain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from howdah.supervise.endpoint import Endpoint
    from howdah.supervise.supervisor import Supervisor

# -P: what lies in the current folder must not come before the standard library.
HOWDAH = (sys.executable, "-P", "-m", "howdah")
OURS = ("processes", "health_port", "health_host")


def run(ctx: click.Context, count: int) -> int:
    """Supervise so many processes of this command, to the end. Returns the exit status."""
    from howdah.supervise.child import Program
    from howdah.supervise.supervisor import Supervisor

    program = Program([*HOWDAH, "worker", *_words(ctx)], ctx.params["grace"], environment())
    port = ctx.params["health_port"]
    if port is None:
        return Supervisor(program, count, hangup_stops=has_terminal()).run()

    from howdah.supervise.health import free_port

    supervisor = Supervisor(program, count, hangup_stops=has_terminal(), new_port=free_port)
    try:
        endpoint = _endpoint(supervisor, ctx.params["health_host"], port)
    except OSError as error:
        complain(f"--health-port {port}: {error}")
        return FAILED
    with endpoint:
        return supervisor.run()


def environment(**more: str) -> Mapping[str, str]:
    """That of a process which must not supervise others in its turn."""
    return {name: value for name, value in os.environ.items() if name != "HOWDAH_PROCESSES"} | more


def has_terminal() -> bool:
    """Whether a terminal can hang up on us."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _words(ctx: click.Context) -> Iterator[str]:
    """What was said on the command line; the environment carries the rest."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        said_here = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if name in OURS or not said_here or not parameter.expose_value:
            continue
        value = ctx.params[name]
        for each in value if parameter.multiple else [value]:
            yield f"{parameter.opts[-1]}={each}"


def _endpoint(supervisor: Supervisor, host: str, port: int) -> Endpoint:
    from howdah.supervise.endpoint import Endpoint
    from howdah.supervise.health import Asked, answer

    def places() -> list[Asked]:
        found = [(place.number, place.child) for place in supervisor.places]
        ready = [(number, child if child and child.heard.loaded else None) for number, child in found]
        return [Asked(number, child.pid, child.port) if child else Asked(number, None, None) for number, child in ready]

    return Endpoint(lambda path: answer(path, places()), host=host, port=port)
