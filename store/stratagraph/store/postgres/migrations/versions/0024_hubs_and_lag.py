"""Store when the writer of each change began, and which relations have an end that is no longer current."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "heads", "jobs", "maintenance", "read", "write"))
    schema, _ = search_path(connection)
    run_script("0024_hubs_and_lag.sql", schema=schema, **names)
