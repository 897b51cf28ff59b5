"""Let a caller who may read little of a large store get its nearest vectors."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0052"
down_revision = "0047"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("maintenance", "read", "search"))
    schema, path = search_path(connection)
    run_script("0052_narrow_vector_search.sql", schema=schema, search_path=path, **names)
