"""Find what may say the same, and pairs to be decided on, by scope and sensitivity; delete old reports of learning."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0046"
down_revision = "0043"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("jobs",))
    run_script("0046_facts_by_group.sql", **names)
