"""Groups of verbs, such as `howdah jobs list`."""

from __future__ import annotations

import click

LONGEST = 200


class Verbs(click.Group):
    """A group that names the nearest verb to a mistyped one, and says of each in full what it does."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        verbs = ((name, self.commands[name]) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.get_short_help_str(limit=LONGEST)) for name, verb in verbs])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verbs = self.list_commands(ctx)
        if args and args[0] not in verbs and not args[0].startswith("-"):
            from howdah.model.nearest import nearest

            ctx.fail(f"no such verb {args[0]!r}{nearest(args[0], verbs)}; there are {', '.join(verbs)}")
        return super().resolve_command(ctx, args)
