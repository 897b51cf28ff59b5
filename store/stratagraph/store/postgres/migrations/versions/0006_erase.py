"""Add the receipts of erasures, and the indexes and privileges that an erasure needs."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles, search_path

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    connection = op.get_bind()
    _, names = make_roles(connection, ("erase",))
    _, path = search_path(connection)
    run_script("0006_erase.sql", search_path=path, **names)
