"""Note how much of an episode learning has read, so that a late outcome and an undone run can be learned from again."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0047"
down_revision = "0046"


def upgrade() -> None:
    run_script("0047_learned_events.sql")
