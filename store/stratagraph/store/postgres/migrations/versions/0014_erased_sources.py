"""Remember erased captures by their sources."""

from __future__ import annotations

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    pass
