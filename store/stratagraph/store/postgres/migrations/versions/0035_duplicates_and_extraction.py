"""Store pairs of records that may say the same, and the episodes that a language model is to read."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "feed", "jobs", "read", "search", "write"))
    schema, path = search_path(connection)
    run_script("0035_duplicates_and_extraction.sql", schema=schema, search_path=path, **names)
