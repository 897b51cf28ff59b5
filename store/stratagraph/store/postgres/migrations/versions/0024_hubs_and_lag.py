"""Store when the writer of each change began, and which relations have an end that is no longer current."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    run_script("0024_hubs_and_lag.sql")
