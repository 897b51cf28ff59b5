"""Pack the counts of a word into one row, or into one for each 16 scopes."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "feed", "search", "read"))
    schema, path = search_path(connection)
    run_script("0022_packed_word_counts.sql", schema=schema, search_path=path, **names)
