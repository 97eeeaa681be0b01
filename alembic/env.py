"""Alembic's environment for Howdah's own schema. The DSN comes from HOWDAH_DSN, or from `-x dsn=…`."""

from contextlib import nullcontext
from typing import Any

from alembic import context
from sqlalchemy import create_engine, pool
from sqlalchemy.schema import Table

from howdah.store.dsn import sqlalchemy_url
from howdah.store.tables import metadata

OPTIONS: dict[str, Any] = {
    "target_metadata": metadata,
    "version_table": "howdah_alembic_version",
    "include_schemas": True,
}


def include_name(name: str | None, type_: str, parent_names: Any) -> bool:
    """Only our schema."""
    return name == "howdah" if type_ == "schema" else True


def include_object(thing: Any, name: str | None, type_: str, reflected: bool, compare_to: Any) -> bool:
    """History's day partitions come and go."""
    table = thing if isinstance(thing, Table) else getattr(thing, "table", None)
    return not (reflected and table is not None and table.name.startswith("history_"))


def dsn() -> str | None:
    """What `-x dsn=…` says."""
    return context.get_x_argument(as_dictionary=True).get("dsn")


if context.is_offline_mode():
    context.configure(dialect_name="postgresql", **OPTIONS)
    with context.begin_transaction():
        context.run_migrations()
else:
    given = context.config.attributes.get("connection")
    engine = None if given is not None else create_engine(sqlalchemy_url(dsn()), poolclass=pool.NullPool)
    with nullcontext(given) if engine is None else engine.connect() as connection:
        connection.dialect.supports_comments = False  # the steps say what a column is; the metadata does not repeat it
        context.configure(connection=connection, include_name=include_name, include_object=include_object, **OPTIONS)
        with context.begin_transaction():
            context.run_migrations()
