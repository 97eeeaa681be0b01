"""Version 1: the whole schema."""

from alembic import op

from howdah import migrations

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    migrations.upgrade(op, from_version=0, to_version=1)


def downgrade() -> None:
    migrations.downgrade(op, from_version=1, to_version=0)
