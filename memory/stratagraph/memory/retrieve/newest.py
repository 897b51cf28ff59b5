"""Questions for what is newest, such as "the latest deploy": the newest of the good candidates comes first. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from stratagraph.memory.retrieve.rank import Rankable

COMPARABLE = 0.5  # share of the best score from which candidates compete for being newest


def newest_first(order: Sequence[tuple[UUID, float]], records: Mapping[UUID, Rankable]) -> list[tuple[UUID, float]]:
    """Return the candidates with raised scores, best first: that of the newest good one doubles.

    `order` are ids and scores, best first. Good ones have at least COMPARABLE of the best score. Each of them that is
    older than another, by its own date `occurred_at`, is raised by half as much. So a record that fits twice as well as
    a newer one can still come before it.
    """
    if not order:
        return []
    good = [id_ for id_, score in order if score >= COMPARABLE * order[0][1]]
    good.sort(key=lambda id_: (-records[id_].occurred_at.timestamp(), id_.int))
    raised = {id_: 1 + 0.5**age for age, id_ in enumerate(good)}
    return sorted(((id_, score * raised.get(id_, 1.0)) for id_, score in order), key=lambda one: -one[1])
