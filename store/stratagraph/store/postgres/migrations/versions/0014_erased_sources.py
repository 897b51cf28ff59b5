"""Remember erased captures by their sources."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import make_roles

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    _, names = make_roles(op.get_bind(), ("erase", "write"))
    run_script("0014_erased_sources.sql", **names)
