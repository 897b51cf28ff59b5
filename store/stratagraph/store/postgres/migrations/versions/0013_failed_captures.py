"""Keep what a retry of a failed capture needs."""

from __future__ import annotations

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    pass
