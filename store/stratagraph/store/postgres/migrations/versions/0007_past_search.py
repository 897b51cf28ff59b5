"""Add word search as of a past instant, by index, and recency search among records that are valid now."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("read", "search"))
    schema, path = search_path(connection)
    run_script("0007_past_search.sql", schema=schema, search_path=path, **names)
