"""Key facts by the entities they name, trim valid time, and register what the objects of a predicate are."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("erase", "jobs", "read", "write"))
    run_script("0011_fact_entities.sql", **names)
