"""Store the reported outcome of a retrieval, and count the returned records that were used."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase", "jobs", "read", "write"))
    schema, _ = search_path(connection)
    run_script("0029_outcomes.sql", schema=schema, **names)
