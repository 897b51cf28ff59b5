"""The signal of time: how well candidates fit the times that a question names, or its wish for what is newest. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from stratagraph.memory.retrieve.rank import Rankable
from stratagraph.memory.retrieve.time_words import TimeWords

TIME = 1.0  # the score of a candidate within the times that were named is raised by this share of it
COMPARABLE = 0.5  # share of the best score from which candidates compete for being newest


def time_signal(
    order: Sequence[tuple[UUID, float]], records: Mapping[UUID, Rankable], times: TimeWords
) -> dict[UUID, float]:
    """Return the signal of each candidate, 0 to 1, by id; candidates with 0 are left out.

    `order` are ids and scores, best first. Where the question names a time, the signal is the fit of the record's own
    date, `occurred_at`. Where it asks for what is newest, the newest of the good candidates has 1, and each older one
    half of the one before. With both, the product.
    """
    if not times.times and not times.newest:
        return {}
    signal = {id_: times.fit(records[id_].occurred_at) if times.times else 1.0 for id_, _ in order}
    if times.newest and order:
        good = [id_ for id_, score in order if score >= COMPARABLE * order[0][1]]
        good.sort(key=lambda id_: (-records[id_].occurred_at.timestamp(), id_.int))
        by_age = {id_: 0.5**age for age, id_ in enumerate(good)}
        signal = {id_: fit * by_age.get(id_, 0.0) for id_, fit in signal.items()}
    return {id_: value for id_, value in signal.items() if value > 0}


def lifted(
    order: Sequence[tuple[UUID, float]], records: Mapping[UUID, Rankable], times: TimeWords
) -> list[tuple[UUID, float]]:
    """Return the candidates with their scores raised by the signal of time, best first."""
    signal = time_signal(order, records, times)
    raised = [(id_, score * (1 + TIME * signal.get(id_, 0.0))) for id_, score in order]
    return sorted(raised, key=lambda one: -one[1]) if signal else raised
