"""Look up records by the primary key, and the records of a level in the order of writing by an index of that order."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0054"
down_revision = "0053"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("search",))
    schema, path = search_path(connection)
    run_script("0054_look_ups_by_the_primary_key.sql", schema=schema, search_path=path, **names)
