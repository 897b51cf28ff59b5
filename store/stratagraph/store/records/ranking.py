"""What ranks a record among hundreds of candidates, without building the record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import Curve, MemoryType
from stratagraph.store.model.salience import salience_at
from stratagraph.store.postgres.bulk import uuid_array
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import fetch, sending


class Head(NamedTuple):
    """The parts of a record by which it is ranked. `salience` is the value at the instant of reading, in [0, 1].

    `covered` has bit n set where the record has term n of the question. `before` and `after` are its neighbours in the
    thread, nearest first, if they were asked for.
    """

    id: UUID
    type: MemoryType
    confidence: float
    salience: float
    occurred_at: datetime
    covered: int
    before: Sequence[UUID] = ()
    after: Sequence[UUID] = ()


def fetching_heads(
    caller: Caller,
    ids: Collection[UUID],
    terms: Sequence[int],
    *,
    near: Sequence[UUID] = (),
    steps: int = 0,
    types: Collection[MemoryType] = (),
    now: datetime,
) -> Sending:
    """Return the statement that reads the heads of the records among `ids` that the caller may read in full.

    `terms` are those of the question, at most 64. The `steps` neighbours in threads of each of the records `near`, in
    each direction, are read too, if they are current at `now` and of `types`.
    """
    parameters = {"ids": uuid_array(ids), "terms": list(terms), **_near(near, steps, types, now)}
    return sending("fetch_ranking", {**caller.parameters(), **parameters})


async def thread_neighbours(
    connection: AsyncConnection,
    caller: Caller,
    near: Sequence[UUID],
    *,
    steps: int,
    types: Collection[MemoryType],
    now: datetime,
) -> dict[UUID, tuple[Sequence[UUID], Sequence[UUID]]]:
    """Return at most `steps` records before and after each of the records `near` in its thread, nearest first.

    They are of `types`, current, and hold at `now`; the caller may read them in full.
    """
    rows = await fetch(connection, "fetch_thread_neighbours", **caller.parameters(), **_near(near, steps, types, now))
    return {row["id"]: (row["before"], row["after"]) for row in rows}


def _near(near: Sequence[UUID], steps: int, types: Collection[MemoryType], now: datetime) -> dict[str, Any]:
    return {
        "near": uuid_array(near),
        "types": [int(memory_type) for memory_type in types],
        "now": now,
        "steps": steps,
    }


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
            row["before"] or (),
            row["after"] or (),
        )
        for row in rows
    }
