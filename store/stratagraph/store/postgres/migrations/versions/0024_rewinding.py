"""Rewind an old copy of the mirror; keep in the log all that a stored snapshot does not see."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0024"
down_revision = "0021"


def upgrade() -> None:
    run_script("0024_rewinding.sql")
