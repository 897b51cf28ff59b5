"""The dates of records and the validity of facts, and the times that the question names."""

from __future__ import annotations

from stratagraph.memory.retrieve.candidates import Asked, Rows


def gather(asked: Asked, rows: Rows) -> list[float | None]:
    """Return how well each record fits the times by its date, from 0 to 1: what its words give counts as much again.

    A fact of which is known when it began or ended fits by that: 1 if it held all the time, over 1/2 if for a part
    of it, and -1 if only at other times.
    """
    times = asked.times
    if not times.times:
        return [None] * len(rows.heads)
    return [
        times.held(head.valid_from, head.valid_to) if head.is_bounded else times.fit(head.occurred_at) or None
        for head in rows.heads
    ]
