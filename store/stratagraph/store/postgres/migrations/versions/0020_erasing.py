"""Salted receipts; columns and policies for pruning, erased tenants, and the audit of removed records."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "jobs", "read"))
    _, path = search_path(connection)
    run_script("0020_erasing.sql", search_path=path, **names)
