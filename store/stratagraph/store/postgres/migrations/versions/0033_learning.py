"""Store runs of learning, their reports and what they changed; mark the episodes that they have read."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "jobs", "read", "write"))
    schema, _ = search_path(connection)
    run_script("0033_learning.sql", schema=schema, **names)
