"""Add the incarnation and the workers of the feed, generations of one tenant, and the state of a mirror's leader."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("feed", "jobs", "keys", "maintenance", "read"))
    run_script("0008_mirror.sql", **names)
