"""Keep the state of learning out of the payload that callers write, and note which stage of learning fails."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0057"
down_revision = "0056"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("erase", "jobs", "keys", "write"))
    run_script("0057_learned_states.sql", **names)
