"""Bound the free predicates that one credential may introduce."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("erase", "keys"))
    run_script("0015_capture_bounds.sql", **names)
