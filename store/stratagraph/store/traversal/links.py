"""Questions about the graph that an engine answers: the links of records, and the plans with given steps.

Both engines implement the protocol `Explorer`. Paths, impact and shared records are computed from the links by the
caller, in one place, so that the engines agree. Only records that the caller may read in full are returned here;
redacted records are never expanded.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.predicates import DERIVATIONS
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.search.word_search import search_all_words

PLAN_CANDIDATES = 300  # plans read for one query
SCANNED = 10_000  # links read for one level and direction, of which those are followed that hold
SCANNED_OF_ONE = 2_000  # the same for a single record
DEGREE_CAP = 100  # relations counted per record; a record with this many or more is a hub


class TooManyRelations(Exception):
    """A record has more relations in the mirror than can be read in bounded time; SQL reads them by an index."""


@dataclass(frozen=True, slots=True)
class Link:
    """An open relation between the frontier record `near` and `far`; `outgoing` if `near` is its source."""

    id: UUID
    near: UUID
    far: UUID
    weight: float
    outgoing: bool


@dataclass(frozen=True, slots=True)
class Links:
    """The links of a frontier, and the records of which not all were read: there may be further ones."""

    found: list[Link]
    cut: frozenset[UUID] = frozenset()


class Explorer(Protocol):
    """An engine that answers queries about the structure of the graph under a caller's trust."""

    name: str
    is_truth: bool  # whether it reads Postgres, so that nothing it finds needs to be confirmed
    plans_up_to: Sensitivity  # the highest sensitivity of plans whose steps the engine knows

    async def links(
        self,
        caller: Caller,
        frontier: Sequence[UUID],
        *,
        at: datetime,
        most: int,
        dependents: bool,
        excluded: Collection[UUID],
    ) -> Links:
        """Return, per frontier record and direction, the `most` heaviest links (then by id) to other current records.

        Only records that the caller may read in full are linked, facts only if they hold at `at`, and none of
        `excluded`. With `dependents`, only records that refer to the frontier record or rest on it: a relation is then
        followed from its target to its source, and a derivation from its source to its target, since it leads from a
        source to the record that rests on it.

        An engine reads a bounded number of links. It names the records of which it has not read all, which depends on
        readable records only, or raises TooManyRelations.
        """
        ...

    async def plans(self, caller: Caller, ops: Sequence[str], *, at: datetime, most: int) -> list[UUID]:
        """Return the ids of at most `most` plans, current at `at`, that may have steps of these ops in this order.

        The caller of this method must check the order (`steps_in_order`). Only plans that `caller` may read in full are
        returned.
        """
        ...


class SqlExplorer:
    """The engine in Postgres, which is always available and always current."""

    name = "sql"
    is_truth = True
    plans_up_to = Sensitivity.HYPER

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def links(
        self,
        caller: Caller,
        frontier: Sequence[UUID],
        *,
        at: datetime,
        most: int,
        dependents: bool,
        excluded: Collection[UUID],
    ) -> Links:
        rows = await fetch(
            self._connection,
            "fetch_links",
            **caller.parameters(),
            frontier=list(frontier),
            at=at,
            most=most,
            dependents=dependents,
            derivations=sorted(DERIVATIONS),
            excluded=list(excluded),
            scan=max(most, scanned(len(frontier))),
        )
        return Links(
            [Link(row["id"], row["near"], row["far"], row["weight"], row["outgoing"]) for row in rows if row["holds"]],
            frozenset(row["near"] for row in rows if row["cut"]),
        )

    async def plans(self, caller: Caller, ops: Sequence[str], *, at: datetime, most: int) -> list[UUID]:
        """Return the ids of at most `most` plans whose text has all words of `ops`, the best matches first.

        The text of a plan lists the ops of its steps; their order is not checked.
        """
        return await search_all_words(
            self._connection, caller, " ".join(ops), types=[MemoryType.PLAN_GRAPH], now=at, limit=most
        )


async def degrees(
    connection: AsyncConnection, caller: Caller, ids: Collection[UUID], *, at: datetime
) -> dict[UUID, int]:
    """Return the number of relations that the caller could follow at `at` from each of `ids`, up to DEGREE_CAP."""
    if not ids:
        return {}
    rows = await fetch(
        connection,
        "count_degrees",
        **caller.parameters(),
        ids=list(ids),
        at=at,
        most=DEGREE_CAP,
        scan=max(DEGREE_CAP, scanned(len(ids))),
    )
    return {row["id"]: row["degree"] for row in rows}


def scanned(frontier: int) -> int:
    """Return how many links are read per record and direction, when those of `frontier` records are read at once."""
    return min(SCANNED_OF_ONE, SCANNED // max(1, frontier))


async def relations_between(
    connection: AsyncConnection,
    caller: Caller,
    ids: Collection[UUID],
    others: Collection[UUID],
    *,
    at: datetime,
    most: int,
) -> list[UUID]:
    """Return the ids of at most `most` open relations with one end in `ids` and the other in `ids` or `others`.

    They are ordered by descending weight. Both ends are current at `at`, and the caller may read them in full.
    """
    if not ids:
        return []
    rows = await fetch(
        connection,
        "relations_between",
        **caller.parameters(),
        ids=list(ids),
        others=list({*ids, *others}),
        at=at,
        most=most,
    )
    return [row["id"] for row in rows]
