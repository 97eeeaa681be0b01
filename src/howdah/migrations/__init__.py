"""The schema's versions: frozen steps, one ledger, and the doors that apply them.

`howdah migrate` and `Client.migrate()` call the runner; an Alembic revision calls `upgrade(op, …)`. All write the same
ledger, `howdah.schema_version`, and do nothing where it has the step already.
"""

from howdah.migrations.alembic_steps import downgrade, script_location, upgrade
from howdah.migrations.roles import grants_of, roles_script
from howdah.migrations.runner import applied_version, migrate, script
from howdah.migrations.steps import SCHEMA_VERSION, suits

__all__ = [
    "SCHEMA_VERSION",
    "applied_version",
    "downgrade",
    "grants_of",
    "migrate",
    "roles_script",
    "script",
    "script_location",
    "suits",
    "upgrade",
]
