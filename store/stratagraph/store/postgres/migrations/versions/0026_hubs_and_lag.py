"""Store when the writer of each change began, and which relations have an end that is no longer current."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0026"
down_revision = "0021"


def upgrade() -> None:
    run_script("0026_hubs_and_lag.sql")
