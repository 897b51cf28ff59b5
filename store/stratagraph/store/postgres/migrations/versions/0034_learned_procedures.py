"""Note what episodes show of tools, and the episodes of procedures that are no skill yet."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "jobs", "write"))
    schema, _ = search_path(connection)
    run_script("0034_learned_procedures.sql", schema=schema, **names)
