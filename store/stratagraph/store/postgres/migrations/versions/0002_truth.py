"""Add the tables and columns for revision, history, forgetting and sealing."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_script("0002_truth.sql")
