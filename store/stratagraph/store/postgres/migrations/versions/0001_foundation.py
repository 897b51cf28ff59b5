"""Create the tables, keys, constraints and indexes of the data model (docs/data-model.md)."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_script("0001_foundation.sql")
