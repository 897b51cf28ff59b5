"""Add searches for the records of the times that a question names."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("read", "search"))
    schema, path = search_path(connection)
    run_script("0037_named_times.sql", schema=schema, search_path=path, **names)
