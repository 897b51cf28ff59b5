"""Store the vectors of records, by which an embedder finds them."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "feed", "jobs", "keys", "maintenance", "read", "search", "write"))
    schema, path = search_path(connection)
    run_script("0030_embeddings.sql", schema=schema, search_path=path, **names)
