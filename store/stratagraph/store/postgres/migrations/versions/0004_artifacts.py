"""Add the objects of artifacts, their uploads, and the list of objects to remove from the object store."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("read", "write", "erase", "keys"))
    run_script("0004_artifacts.sql", **names)
