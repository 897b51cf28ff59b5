"""Store at relations from whom an end is hidden and until when it holds, and what is known of a mirror's damage."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "heads", "jobs", "read", "write"))
    schema, _ = search_path(connection)
    run_script("0026_hidden_and_expired_ends.sql", schema=schema, **names)
