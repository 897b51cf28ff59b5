"""Keep learned episodes whose skill is not made yet."""

from alembic import op

from stratagraph.store.postgres.migrations.scripts import run_script
from stratagraph.store.postgres.roles import search_path

revision = "0042"
down_revision = "0040"


def upgrade() -> None:
    schema, _ = search_path(op.get_bind())
    run_script("0042_awaited_skills.sql", schema=schema)
