"""Groups of verbs, such as `howdah jobs list`."""

from __future__ import annotations

import click


class Verbs(click.Group):
    """A group that names the nearest verb to a mistyped one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verbs = self.list_commands(ctx)
        if args and args[0] not in verbs and not args[0].startswith("-"):
            from howdah.model.nearest import nearest

            ctx.fail(f"no such verb {args[0]!r}{nearest(args[0], verbs)}; there are {', '.join(verbs)}")
        return super().resolve_command(ctx, args)
