"""Find entities with names alike within one tenant, scope and sensitivity."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("jobs", "search", "write"))
    schema, path = search_path(connection)
    run_script("0040_names_alike_by_group.sql", schema=schema, search_path=path, **names)
