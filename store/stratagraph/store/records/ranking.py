"""What ranks a record among hundreds of candidates, without building the record."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import Curve, MemoryType
from stratagraph.store.model.salience import salience_at
from stratagraph.store.postgres.bulk import uuid_array
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import fetch_tuples, sending

# A look-up of a number takes a tenth of the time of a call of the enum.
_TYPES = {int(type_): type_ for type_ in MemoryType}
_CURVES = {int(curve): curve for curve in Curve}


class Head(NamedTuple):
    """The parts of a record by which it is ranked. `salience` is the value at the instant of reading, in [0, 1]."""

    id: UUID
    type: MemoryType
    confidence: float
    salience: float
    occurred_at: datetime


def fetching_heads(caller: Caller, ids: Collection[UUID]) -> Sending:
    """Return the statement that reads the heads of the records among `ids` that the caller may read in full."""
    return sending("fetch_ranking", {**caller.parameters(), "ids": uuid_array(ids)})


async def read_heads(
    connection: AsyncConnection, caller: Caller, ids: Collection[UUID], *, now: datetime
) -> dict[UUID, Head]:
    """Return the heads of the records among `ids` that the caller may read in full, by id, as of the instant `now`."""
    return _heads(await fetch_tuples(connection, fetching_heads(caller, ids)), now=now)


def _heads(rows: Iterable[tuple[Any, ...]], *, now: datetime) -> dict[UUID, Head]:
    """Return the heads of the rows of `fetching_heads`, keyed by id, with their salience at `now`."""
    heads = {}
    for id_, type_, confidence, occurred_at, created_at, s, t0, pinned, curve, *decay in rows:
        half_life_s, min_salience, max_age_s, params = decay
        salience = salience_at(
            now,
            s=s,
            t0=t0,
            created_at=created_at,
            pinned=pinned,
            curve=_CURVES[curve],
            half_life_s=half_life_s,
            min_salience=min_salience,
            max_age_s=max_age_s,
            params=params,
        )
        heads[id_] = Head(id_, _TYPES[type_], confidence, salience, occurred_at)
    return heads
