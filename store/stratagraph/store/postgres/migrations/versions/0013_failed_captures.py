"""Keep what a retry of a failed capture needs: its batch, and the rights of its caller."""

from __future__ import annotations

from stratagraph.store.postgres.migrations.scripts import run_script

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    run_script("0013_failed_captures.sql")
