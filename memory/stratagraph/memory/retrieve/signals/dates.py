"""The dates of records and the validity of facts, and the times that the question names."""

from __future__ import annotations

from stratagraph.memory.retrieve.candidates import Asked, Rows
from stratagraph.memory.retrieve.times import TimeWords
from stratagraph.store.records.ranking import Head


def gather(asked: Asked, rows: Rows) -> list[float | None]:
    """Return how well each record fits the times, by its date or by a time that its text names, from 0 to 1.

    What its words give counts as much again.
    A fact of which is known when it began or ended fits by that: 1 if it held all the time, over 1/2 if for a part
    of it, and -1 if only at other times.
    """
    times = asked.times
    if not times.times:
        return [None] * len(rows.heads)
    return [
        times.held(head.valid_from, head.valid_to)
        if head.is_bounded
        else max(times.fit(head.occurred_at), times.said(head.named_times)) or None
        for head in rows.heads
    ]


def basis(times: TimeWords, head: Head) -> str:
    """Return by what a record fits the times: its `validity`, a time that its `text` names, or its own `date`."""
    if head.is_bounded:
        return "validity"
    return "text" if times.said(head.named_times) > times.fit(head.occurred_at) else "date"
