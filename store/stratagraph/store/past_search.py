"""Candidates for retrieval as of a past instant: words as they stood then, and what was newest then.

The terms and impacts of then are kept with each version, so a match is scored as it would have been; how rare a word
is, is counted as of now, which moves the scores a little and never what matches.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Table, and_, bindparam, cast, exists, or_, select, true, union_all
from sqlalchemy.dialects.postgresql import ARRAY, array
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import Float, Integer

from stratagraph.store import tables
from stratagraph.store.database import fetch
from stratagraph.store.enums import MemoryType, RecordState
from stratagraph.store.instants import LEEWAY
from stratagraph.store.search import RECENT_WINDOW, Candidates, _candidates, _statistics
from stratagraph.store.tables.base import SparseVec
from stratagraph.store.tenancy import Reach
from stratagraph.store.words import query_terms, query_vector


async def search_words_at(
    connection: AsyncConnection,
    reach: Reach,
    text: str,
    *,
    types: Collection[MemoryType],
    at: datetime,
    limit: int,
) -> list[tuple[UUID, float]]:
    """The best `limit` records by BM25 as they stood at `at`, best first; current then, and in full sight then and
    now. Two statements, whatever the store's size."""
    terms = query_terms(reach.tenant.index_key, text)
    if not terms:
        return []
    statistics = await _statistics(connection, reach, terms)
    candidates = _candidates(reach, terms, statistics)
    now, then = tables.record, tables.record_history
    # Materialised, or a filter beside the terms may draw the planner away from the GIN indexes.
    unchanged = (
        select(
            now.c.tenant, now.c.id, now.c.type, now.c.scope, now.c.sensitivity, now.c.state, now.c.updated_at,
            now.c.impacts,
        )
        .where(_matches(now, candidates))
        .cte("unchanged")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )  # fmt: skip
    changed = (
        select(
            then.c.tenant, then.c.id, then.c.type, then.c.scope, then.c.sensitivity, then.c.state, then.c.from_at,
            then.c.to_at, then.c.impacts,
        )
        .where(_matches(then, candidates))
        .cte("changed")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )  # fmt: skip
    # What has not changed since is the record of now; what has, is a version, and its record must be in sight as well.
    found = union_all(
        select(unchanged.c.id, unchanged.c.impacts).where(
            _answers(reach, unchanged.c, types), unchanged.c.updated_at <= at
        ),
        select(changed.c.id, changed.c.impacts).where(
            _answers(reach, changed.c, types),
            changed.c.from_at <= at,
            changed.c.to_at > at,
            exists().where(
                now.c.tenant == changed.c.tenant,
                now.c.id == changed.c.id,
                now.c.updated_at > at,
                _in_full_sight(reach, now.c),
            ),
        ),
    ).subquery("found")
    vector = query_vector(terms, statistics.frequencies, max(statistics.documents, 1))
    distance: ColumnElement[float] = found.c.impacts.op("<#>", return_type=Float())(
        cast(bindparam("vector", vector), SparseVec())
    )
    rows = await connection.execute(
        select(found.c.id, distance.label("distance")).order_by(distance, found.c.id).limit(limit)
    )
    return [(row.id, -row.distance) for row in rows if row.distance < 0]


async def search_recent_at(
    connection: AsyncConnection, reach: Reach, *, types: Collection[MemoryType], at: datetime, limit: int
) -> list[UUID]:
    """The newest of the last RECENT_WINDOW records that were there at `at`, newest first."""
    rows = await fetch(
        connection,
        "search_recent_at",
        **reach.parameters(),
        types=[int(memory_type) for memory_type in types],
        at=at,
        below=_first_id_after(at),
        window=RECENT_WINDOW,
        limit=limit,
    )
    return [row["id"] for row in rows]


def _first_id_after(at: datetime) -> UUID:
    """Records that existed at `at` have UUIDv7s below this one: ids are made in the second in which a write begins."""
    milliseconds = max(0, int((at + LEEWAY).timestamp() * 1_000))
    return UUID(int=milliseconds << 80)


def _matches(table: Table, candidates: Candidates) -> ColumnElement[bool]:
    if candidates.everything:
        return true()
    groups = [("@>", terms) for terms in candidates.all_of]
    if candidates.any_of:
        groups.append(("&&", candidates.any_of))
    return or_(
        *(
            table.c.terms.op(operator, is_comparison=True)(cast(array(terms), ARRAY(Integer)))
            for operator, terms in groups
        )
    )


def _answers(reach: Reach, columns: Any, types: Collection[MemoryType]) -> ColumnElement[bool]:
    return and_(
        _in_full_sight(reach, columns),
        columns.state <= int(RecordState.CONTESTED),
        columns.type.in_([int(memory_type) for memory_type in types]),
    )


def _in_full_sight(reach: Reach, columns: Any) -> ColumnElement[bool]:
    sight: ColumnElement[bool] = and_(columns.tenant == reach.tenant.id, columns.sensitivity <= int(reach.ceiling))
    return sight if reach.scopes is None else and_(sight, columns.scope.in_(reach.scopes))
