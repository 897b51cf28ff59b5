"""Find lessons by their task, newest first; count how often they were told and helped."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "jobs", "read", "search", "write"))
    schema, path = search_path(connection)
    run_script("0036_lessons.sql", schema=schema, search_path=path, **names)
