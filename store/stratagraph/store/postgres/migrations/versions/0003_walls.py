"""Create the roles, grants and row-level security, and the functions that read beyond it on behalf of a caller."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0003"
down_revision = "0002"

ROLES = ("read", "write", "feed", "jobs", "erase", "keys", "maintenance", "heads", "search")


def upgrade() -> None:
    connection = op.get_bind()
    prefix, names = make_roles(connection, ROLES)
    schema, path = search_path(connection)
    run_script("0003_walls.sql", prefix=f"'{prefix}'", schema=schema, search_path=path, **names)
