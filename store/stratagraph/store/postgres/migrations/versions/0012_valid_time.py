"""Show effective validity to readers and leave out what does not hold."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "heads", "jobs", "read", "search", "write"))
    schema, path = search_path(connection)
    run_script("0012_valid_time.sql", schema=schema, search_path=path, **names)
