"""Search the newest records of a caller of all scopes by one query whose plan is kept."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("read", "search"))
    schema, path = search_path(connection)
    run_script("0027_recent_in_all_scopes.sql", schema=schema, search_path=path, **names)
