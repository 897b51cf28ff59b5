"""Show effective validity to readers and leave out what does not hold."""

from __future__ import annotations

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    pass
