"""Bound what one credential may add to the vocabulary."""

from __future__ import annotations

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    pass
