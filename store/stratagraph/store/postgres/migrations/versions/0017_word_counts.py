"""Count words by scope and sensitivity, up and down, and read the newest readable records from indexes."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "feed", "jobs", "keys", "read", "search", "write"))
    schema, path = search_path(connection)
    run_script("0017_word_counts.sql", schema=schema, search_path=path, **names)
