"""`howdah migrate`."""

from __future__ import annotations

import click

from howdah.cli import options
from howdah.model.errors import SchemaMismatch


@click.command()
@options.dsn
@click.option("--check", is_flag=True, help="Only look: exit status 3 unless the schema is this release's.")
@click.option("--sql", is_flag=True, help="Print all of it as SQL for psql; touches no database.")
@click.option("--to", type=click.IntRange(min=1), metavar="N", help="Stop at version N.")
@options.output
def migrate(dsn: str | None, check: bool, sql: bool, to: int | None, output: str) -> None:
    """Bring the database to this release's schema.

    Needs the right to create a schema in the database, not a superuser. Safe to start ten times at once.

    \b
    howdah migrate --dsn postgresql://localhost/shop
    howdah migrate --check        in a deployment's probe
    howdah migrate --sql | psql   where only a DBA may change the schema
    """
    from howdah import migrations

    if to is not None and to > migrations.SCHEMA_VERSION:
        raise click.UsageError(f"--to {to}: this release knows versions up to {migrations.SCHEMA_VERSION}")
    target = to or migrations.SCHEMA_VERSION
    if sql:
        click.echo(migrations.script(target), nl=False)
    elif check:
        found = _look(dsn)
        click.echo(f"version {found}, this release needs {migrations.SCHEMA_VERSION}")
        if found != migrations.SCHEMA_VERSION:
            raise SchemaMismatch(found or None, migrations.SCHEMA_VERSION)
    else:
        _apply(dsn, target, output)


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
    finally:
        connections.close()
    if output == "table":
        click.echo(f"migrated to version {applied[-1]}" if applied else "nothing to do")
    else:
        show.record({"applied": applied, "version": target}, output)
