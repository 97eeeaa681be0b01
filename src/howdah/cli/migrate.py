"""`howdah migrate`."""

from __future__ import annotations

import click

from howdah.cli import options
from howdah.model.errors import SchemaMismatch


@click.command()
@options.dsn
@click.option("--check", is_flag=True, help="Only look: exit status 3 if the schema is behind.")
@click.option("--sql", is_flag=True, help="Print all of it as SQL for psql; touches no database.")
@click.option("--roles", is_flag=True, help="Print roles and grants as SQL for psql; touches no database.")
@click.option("--to", type=click.IntRange(min=1), metavar="N", help="Stop at version N.")
@options.output
def migrate(dsn: str | None, check: bool, sql: bool, roles: bool, to: int | None, output: str) -> None:
    """Bring the database to this release's schema.

    Needs the right to create a schema in the database, not a superuser. Safe to start ten times at once.

    \b
    howdah migrate --dsn postgresql://localhost/shop
    howdah migrate --check        in a deployment's probe
    howdah migrate --sql | psql   where only a DBA may change the schema
    howdah migrate --roles | psql who may enqueue, work and read; again after each migration
    """
    from howdah import migrations

    if check + sql + roles > 1:
        raise click.UsageError("say one of --check, --sql and --roles")
    if to is not None and to > migrations.SCHEMA_VERSION:
        raise click.UsageError(f"--to {to}: this release knows versions up to {migrations.SCHEMA_VERSION}")
    target = to or migrations.SCHEMA_VERSION
    if roles:
        click.echo(migrations.roles_script(), nl=False)
    elif sql:
        click.echo(migrations.script(target), nl=False)
    elif check:
        _check(dsn, output)
    else:
        _apply(dsn, target, output)


def _check(dsn: str | None, output: str) -> None:
    from howdah import migrations
    from howdah.cli import show

    found, needed = _look(dsn), migrations.SCHEMA_VERSION
    fine = found >= needed and migrations.suits(found)
    if output == "table":
        click.echo(f"version {found}, this release needs {needed}")
    else:
        show.record({"version": found, "needed": needed, "fine": fine}, output)
    if not fine:
        raise SchemaMismatch(found or None, needed)


def _look(dsn: str | None) -> int:
    from howdah import migrations
    from howdah.store.connections import Connections

    connections = Connections(dsn)
    try:
        return connections.use(migrations.applied_version)
    finally:
        connections.close()


def _apply(dsn: str | None, target: int, output: str) -> None:
    from howdah import migrations
    from howdah.cli import show
    from howdah.store.connections import Connections

    connections = Connections(dsn)
    try:
        applied = connections.use(lambda connection: migrations.migrate(connection, to=target))
        found = connections.use(migrations.applied_version)
    finally:
        connections.close()
    if output == "table":
        click.echo(f"migrated to version {found}" if applied else _nothing_to_do(found))
    else:
        show.record({"applied": applied, "version": found}, output)


def _nothing_to_do(found: int) -> str:
    from howdah import migrations

    if found > migrations.SCHEMA_VERSION:
        return f"nothing to do: version {found} is newer than this release's {migrations.SCHEMA_VERSION}, and suits it"
    return "nothing to do"
