"""What ranks a record among hundreds of candidates, without building the record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import Curve, MemoryType, RecordState
from stratagraph.store.model.payloads.entity import NAMING
from stratagraph.store.model.predicates import LINEAGE
from stratagraph.store.model.salience import salience_at
from stratagraph.store.model.sketches import SKETCH, Sketch
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import fetch, fetch_tuples, sending
from stratagraph.store.records.episodes import thread_key
from stratagraph.store.records.handles import handle_key

SYSTEM = LINEAGE | {"uses"}  # relations that say nothing of what their records have to do with each other
RELATING = 3  # records whose relations make candidates
FOLLOWED = 16  # relations of each, in each direction, that are looked at, the heaviest first
MOST_OF_EPISODE, MOST_OF_THREADS = 500, 5_000  # records that are left out of an answer
RELATED = 8  # candidates that they make of each
# A look-up of a number takes a tenth of the time of a call of the enum.
_TYPES = {int(type_): type_ for type_ in MemoryType}
_CURVES = {int(curve): curve for curve in Curve}


class Head(NamedTuple):
    """The parts of a record by which it is ranked. `salience` is the value at the instant of reading, in [0, 1].

    `covered` has bit n set where the record has term n of the question, and `score` is its BM25 score. `before` and
    `after` are its neighbours in the thread, nearest first, and `related` the records that callers have related to it,
    if they were asked for.
    `fingerprint` is what an event says, as a sketch or as `stored_sketch` reads it, or the key or the text of a fact;
    None for other types. `quoted` has the other terms of a fact that has all those of `template`, as a sketch or as
    `stored_sketch` reads them, and is None for other records.
    `is_bare` is that of `MemoryRecord`, but False for a sealed entity.
    A fact holds from `valid_from` until before `valid_to`. Where these are not stated, a superseded fact, and one that
    followed it, began at their own dates, and the former ended at the start or else the date of what took its place.
    """

    id: UUID
    type: MemoryType
    confidence: float
    salience: float
    occurred_at: datetime
    covered: int
    before: Sequence[UUID] = ()
    after: Sequence[UUID] = ()
    related: Sequence[UUID] = ()
    fingerprint: bytes | str | Sketch | None = None
    quoted: bytes | Sketch | None = None
    is_bare: bool = False
    score: float = 0.0
    state: int = RecordState.ACTIVE
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    named_times: Sequence[tuple[datetime, datetime]] = ()

    @property
    def is_current(self) -> bool:
        return self.state <= RecordState.CONTESTED

    @property
    def weight(self) -> float:
        """The salience by which the record is ranked: a superseded fact counts as it did while it held."""
        return 1.0 if self.state == RecordState.SUPERSEDED else self.salience

    @property
    def is_bounded(self) -> bool:
        """Whether this is a fact of which is known when it began or ended."""
        return self.valid_from is not None or self.valid_to is not None

    def holds_at(self, at: datetime) -> bool:
        return (self.valid_from is None or self.valid_from <= at) and (self.valid_to is None or at < self.valid_to)

    def held(self, intervals: Iterable[tuple[datetime, datetime]], *, superseded: bool = True) -> bool:
        """Return whether this is a fact that held at some time in one of the intervals, and was not withdrawn.

        Without `superseded`, it must not have been superseded either.
        """
        return (
            self.type is MemoryType.SEMANTIC
            and self.state <= (RecordState.SUPERSEDED if superseded else RecordState.CONTESTED)
            and any(
                (self.valid_from is None or self.valid_from < end) and (self.valid_to is None or self.valid_to > start)
                for start, end in intervals
            )
        )


def fetching_heads(
    caller: Caller,
    ids: Collection[UUID],
    terms: Sequence[int],
    *,
    near: Sequence[UUID] = (),
    steps: int = 0,
    types: Collection[MemoryType] = (),
    template: Sequence[int],
    vector: str,
    now: datetime,
    by_time: bool = False,
) -> Sending:
    """Return the statement that reads the heads of the records among `ids` that the caller may read in full.

    `terms` are those of the question, at most 64, and `vector` their weights, as a sparsevec. The `steps` neighbours in
    threads of each of the records `near`, in each direction, are read too, if they are current at `now` and of `types`.
    So are at most RELATED records to which callers have related each of the first RELATING of `near`, by other
    relations than SYSTEM. `template` are at least one term, as in `Head`. With `by_time`, facts of which the start or
    the end is not stated have that by their dates, and the times that texts name are read.
    """
    parameters = {
        "by_time": by_time,
        "ids": list(ids),
        "terms": list(terms),
        "sketch": SKETCH,
        **_near(near, steps, types, now),
    }
    parameters |= {"template": list(template), "naming": list(NAMING), "vector": vector}
    parameters |= {"lineage": list(SYSTEM), "relating": RELATING, "followed": FOLLOWED, "related": RELATED}
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


async def records_of_threads(connection: AsyncConnection, caller: Caller, threads: Sequence[str]) -> frozenset[UUID]:
    """Return the newest records of the threads of these names, at most MOST_OF_EPISODE of each of their episodes."""
    tenant = caller.tenant
    rows = await fetch(
        connection,
        "fetch_records_of_threads",
        tenant=tenant.id,
        threads=[thread_key(tenant, thread) for thread in threads],
        handles=[handle_key(tenant, MemoryType.WORKING, thread) for thread in threads],
        most=MOST_OF_EPISODE,
        all=MOST_OF_THREADS,
    )
    return frozenset(row["id"] for row in rows)


def _near(near: Sequence[UUID], steps: int, types: Collection[MemoryType], now: datetime) -> dict[str, Any]:
    return {
        "near": list(near),
        "types": [int(memory_type) for memory_type in types],
        "now": now,
        "steps": steps,
    }


async def read_heads(connection: AsyncConnection, statement: Sending, *, now: datetime) -> dict[UUID, Head]:
    """Return the heads that `fetching_heads` asks for, by id, as of the instant `now`."""
    return _heads(await fetch_tuples(connection, statement), now=now)


def _heads(rows: Iterable[tuple[Any, ...]], *, now: datetime) -> dict[UUID, Head]:
    """Return the heads of the rows of `fetching_heads`, keyed by id, with their salience at `now`."""
    heads = {}
    for id_, type_, confidence, occurred_at, created_at, s, t0, pinned, curve, *more in rows:
        half_life_s, min_salience, max_age_s, params, covered, score, fingerprint, quoted, is_bare, *rest = more
        state, valid_from, valid_to, named_from, named_to, before, after, related = rest
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
        heads[id_] = Head(
            id_,
            _TYPES[type_],
            confidence,
            salience,
            occurred_at,
            covered,
            before or (),
            after or (),
            related or (),
            fingerprint,
            quoted,
            bool(is_bare),
            score,
            state,
            valid_from,
            valid_to,
            tuple(zip(named_from or (), named_to or (), strict=True)),
        )
    return heads
