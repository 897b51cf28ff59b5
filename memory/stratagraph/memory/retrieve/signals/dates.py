"""The dates of records and the validity of facts, and the times that the question names."""

from __future__ import annotations

from stratagraph.memory.retrieve.candidates import Asked, Rows
from stratagraph.memory.retrieve.times import TimeWords
from stratagraph.memory.retrieve.weights import CLOSE, SAID
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
    named = SAID if asked.only_times else 1.0  # what happened then comes before what tells of it
    return [
        times.held(head.valid_from, head.valid_to) if head.is_bounded else _fit(times, head, named) or None
        for head in rows.heads
    ]


def _fit(times: TimeWords, head: Head, named: float) -> float:
    own = max(times.fit(head.occurred_at), times.said(head.named_times))
    return max(own, named) if head.id in times.named_by else own


def basis(times: TimeWords, head: Head) -> str | None:
    """Return by what a record fits the times: its `validity`, a time that its `text` names, or its own `date`.

    Returns None for a record that is neither of the times nor close beside them.
    """
    if head.is_bounded:
        return "validity" if times.held(head.valid_from, head.valid_to) > 0 else None
    date, said = times.fit(head.occurred_at), times.said(head.named_times)
    if said > date or (head.id in times.named_by and date < 1):
        return "text"
    return "date" if date >= CLOSE else None
