"""Keep the token buckets of fair use, shared by all processes of a service."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("keys",))
    run_script("0019_fair_use.sql", **names)
