"""The dates of records, and the times that the question names."""

from __future__ import annotations

from stratagraph.memory.retrieve.candidates import Asked, Rows


def gather(asked: Asked, rows: Rows) -> list[float | None]:
    """Return how well the date of each record fits the times, from 0 to 1: what its words give counts as much again."""
    times = asked.times
    if not times.times:
        return [None] * len(rows.heads)
    return [times.fit(head.occurred_at) or None for head in rows.heads]
