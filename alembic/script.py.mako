"""${message}"""

from alembic import op

from howdah import migrations

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    migrations.upgrade(op, from_version=…, to_version=…)


def downgrade() -> None:
    migrations.downgrade(op, from_version=…, to_version=…)
