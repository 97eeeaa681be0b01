"""`howdah`: the group of commands, loaded one by one, and what an error looks like."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from howdah.model.errors import InvalidOption

FAILED, USAGE, BEHIND = 1, 2, 3
FORBIDDEN = "42501"  # PostgreSQL's SQLSTATE for insufficient privilege
FORBIDDEN_HELP = (
    "The role of this DSN may not do that. What it lacks: howdah doctor; what can be granted: howdah migrate --roles; "
    "migrating needs the right to create a schema in the database"
)

COMMANDS = {
    "bench": ("howdah.cli.bench", "Measure speed beside raw SQL, on databases of its own."),
    "demo": ("howdah.cli.demo", "Show on real files what happens when workers are killed."),
    "dev": ("howdah.cli.dev", "A database and a worker for development, reloaded on change."),
    "doctor": ("howdah.cli.doctor", "Look for what keeps jobs from running, and say what to do."),
    "drain": ("howdah.cli.work", "Run what is available, and exit."),
    "enqueue": ("howdah.cli.enqueue", "Enqueue a job: howdah enqueue KIND key=value n:=3"),
    "jobs": ("howdah.cli.jobs", "List, show and follow jobs; cancel, requeue and resolve them."),
    "kinds": ("howdah.cli.kinds", "The policies of kinds: list, set and reset them."),
    "migrate": ("howdah.cli.migrate", "Bring the database to this release's schema."),
    "queues": ("howdah.cli.queues", "List queues, pause and resume them."),
    "sweep": ("howdah.cli.sweep", "One pass of reaper, promoter and pruner."),
    "worker": ("howdah.cli.work", "Run a worker."),
    "workers": ("howdah.cli.workers", "List workers."),
}


class Commands(click.Group):
    """Commands that are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return getattr(import_module(COMMANDS[cmd_name][0]), cmd_name)  # type: ignore[no-any-return]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from howdah.model.nearest import nearest

            ctx.fail(f"no such command {args[0]!r}{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        from howdah.model.errors import HowdahError, InvalidArgs, InvalidOption, SchemaMismatch, Unreachable

        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise click.UsageError(printable(error.format_message()), error.ctx) from None
        except SchemaMismatch as error:
            complain(str(error))
            ctx.exit(BEHIND)
        except InvalidArgs as error:
            complain(str(error))
            ctx.exit(USAGE)
        except InvalidOption as error:
            complain(_option_said(error))
            ctx.exit(USAGE)
        except Unreachable as error:
            _complain_of_the_way(str(error))
            ctx.exit(FAILED)
        except (HowdahError, TimeoutError) as error:
            complain(str(error))
            ctx.exit(FAILED)
        except Exception as error:
            if getattr(error, "sqlstate", None) != FORBIDDEN:
                raise
            complain(_first_line(str(error)), FORBIDDEN_HELP)
            ctx.exit(FAILED)


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Every command but demo, dev and bench takes --dsn, or the environment variable HOWDAH_DSN. "
    "Exit status: 0 fine, 1 the work failed, 2 usage, 3 the schema is behind.",
)
@click.version_option(package_name="howdah")
def main() -> None:
    """A work queue that lives in PostgreSQL.

    \b
    Try it:            howdah demo
    Set a database up: howdah migrate --dsn postgresql://…
    Run a worker:      howdah worker -m shop.jobs -q mail:10 -q default:5
    """


def complain(message: str, advice: str = "") -> None:
    """An error, for a person, on stderr, and what to do."""
    click.echo(f"howdah: {printable(message)}" + (f"\n  → {printable(advice)}" if advice else ""), err=True)


def printable(text: str) -> str:
    """Text out of the database without the characters that a terminal would obey."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def _complain_of_the_way(message: str) -> None:
    """What to do about it is what the doctor says."""
    from howdah.diagnosis.server_rules import why_unreachable

    if known := why_unreachable(message):
        what, (why, advice) = "cannot reach PostgreSQL: ", known
        complain(f"{what}{why} ({_first_line(message).removeprefix(what)})", advice)
    else:
        complain(message)


def _option_said(error: InvalidOption) -> str:
    if error.value is None:
        return f"{error.name}: {error.problem}"
    return f"{error.name} {str(error.value)[:100]!r}: {error.problem}"


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
