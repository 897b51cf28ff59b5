"""Remember merges of entities so that they can be undone."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("erase", "jobs", "write"))
    run_script("0016_merges.sql", **names)
