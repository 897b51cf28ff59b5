"""Remember merges of entities so that they can be undone."""

from __future__ import annotations

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    pass
