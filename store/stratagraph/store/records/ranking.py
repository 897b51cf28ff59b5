"""What ranks a record among hundreds of candidates, without building the record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import Curve, MemoryType
from stratagraph.store.model.salience import salience_at
from stratagraph.store.postgres.bulk import uuid_array
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import sending


class Head(NamedTuple):
    """The parts of a record by which it is ranked. `salience` is the value at the instant of reading, in [0, 1].

    `covered` has bit n set where the record has term n of the question.
    """

    id: UUID
    type: MemoryType
    confidence: float
    salience: float
    occurred_at: datetime
    covered: int


def fetching_heads(caller: Caller, ids: Collection[UUID], terms: Sequence[int]) -> Sending:
    """Return the statement that reads the heads of the records among `ids` that the caller may read in full.

    `terms` are those of the question, at most 64.
    """
    return sending("fetch_ranking", {**caller.parameters(), "ids": uuid_array(ids), "terms": list(terms)})


def heads_of(rows: Iterable[Mapping[str, Any]], *, now: datetime) -> dict[UUID, Head]:
    """Return the heads of the rows of `fetching_heads`, keyed by id, with their salience at `now`."""
    return {
        row["id"]: Head(
            row["id"],
            MemoryType(row["type"]),
            row["confidence"],
            salience_at(
                now,
                s=row["s"],
                t0=row["t0"],
                created_at=row["created_at"],
                pinned=row["pinned"],
                curve=Curve(row["curve"]),
                half_life_s=row["half_life_s"],
                min_salience=row["min_salience"],
                max_age_s=row["max_age_s"],
                params=row["params"],
            ),
            row["occurred_at"],
            row["covered"],
        )
        for row in rows
    }
