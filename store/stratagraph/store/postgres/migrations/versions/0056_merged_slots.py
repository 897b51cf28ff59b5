"""Find the merges that made a slot single-valued by the slot."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    run_script("0056_merged_slots.sql")
