"""Rewind an old copy of the mirror; keep in the log all that a stored snapshot does not see."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    run_script("0023_rewinding.sql")
