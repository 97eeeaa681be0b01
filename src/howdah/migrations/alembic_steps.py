"""The same steps through Alembic's `op`: for the revisions in `alembic/`, and for a host application's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from howdah.migrations.steps import DROP, LEDGER, LOCK, VERSION, step

if TYPE_CHECKING:
    from alembic.operations import Operations


def upgrade(op: Operations, *, from_version: int, to_version: int) -> None:
    """Apply the steps after `from_version` up to `to_version`; those that the ledger has are left out.

    Offline (`--sql`) all of them are printed.
    """
    _execute(op, LOCK)
    found = from_version if op.get_context().as_sql else max(from_version, _version(op))
    for version in range(found + 1, to_version + 1):
        for statement in step(version, via="alembic"):
            _execute(op, statement)


def downgrade(op: Operations, *, from_version: int, to_version: int) -> None:
    """Undo the steps after `to_version`. Version 1 is the first, so this drops the schema with all jobs in it."""
    if from_version > to_version == 0:
        _execute(op, LOCK)
        _execute(op, DROP)


def script_location() -> Path:
    """Where our Alembic revisions are: inside an installed package, or at the top of the checkout."""
    inside = Path(__file__).parent / "alembic"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "alembic"


def _version(op: Operations) -> int:
    import sqlalchemy as sa  # here, since every client imports this package

    connection = op.get_bind()
    if not connection.execute(sa.text(LEDGER)).scalar():
        return 0
    return int(connection.execute(sa.text(VERSION)).scalar() or 0)


def _execute(op: Operations, statement: str) -> None:
    context = op.get_context()
    if context.as_sql:
        context.impl.static_output(f"{statement};")  # compiled for a driver, each % would be printed twice
    else:
        import sqlalchemy as sa

        op.execute(sa.text(statement.replace(":", "\\:")))  # a colon would be taken for a bind parameter
