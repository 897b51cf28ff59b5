"""Tell what captures displaced since a merge of entities from what revisions decided, so that an unmerge undoes it."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0056"
down_revision = "0055"


def upgrade() -> None:
    run_script("0056_merged_slots.sql")
