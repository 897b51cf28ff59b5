"""Keep rationales of acts on records of several sensitivities, and logged retrievals, to those who may read them."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0018"
down_revision = "0016"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("erase", "jobs", "read", "write"))
    run_script("0018_hidden_rationales.sql", **names)
