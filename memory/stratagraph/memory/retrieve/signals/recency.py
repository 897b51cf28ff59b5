"""The newest records: they come first of those that fit as well, and are candidates where nothing else is asked for."""

from __future__ import annotations

from stratagraph.memory.retrieve.candidates import Asked, Rows


def gather(asked: Asked, rows: Rows) -> list[float | None]:
    """Return 1 for the newest record, 1/2 for the one before it, and so on."""
    found: list[float | None] = [None] * len(rows.heads)
    for rank, row in enumerate(rows.recent):
        if row is not None:
            found[row] = 1.0 / (1 + rank)
    return found
