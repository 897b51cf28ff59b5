"""Rename the tables and columns of the feed and the mirror: snapshots, dead letters, the mirror's leader."""

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run_script("0009_plain_names.sql")
