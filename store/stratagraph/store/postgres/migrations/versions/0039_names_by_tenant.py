"""Find names and aliases with a typo within one tenant, and count the waiting changes that a caller may read."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0039"
down_revision = "0037"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("read", "search"))
    schema, path = search_path(connection)
    run_script("0039_names_by_tenant.sql", schema=schema, search_path=path, **names)
