"""Questions about the graph as of another time: a past instant, or one at which facts must have held."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.predicates import DERIVATIONS
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.search.word_search import search_all_words_at
from stratagraph.store.traversal.links import DEGREE_CAP, Link, Links, scanned


class TimedExplorer:
    """The engine in Postgres for another time than now.

    With `is_past`, records and relations are those of the instant `at`, and facts those that held at `valid_at`.
    Without, they are those of the present, `at`, but that facts held at `valid_at`; these may be superseded.
    """

    name = "sql"
    is_truth = True
    plans_up_to = Sensitivity.HYPER

    def __init__(self, connection: AsyncConnection, *, at: datetime, valid_at: datetime, is_past: bool) -> None:
        self._connection = connection
        self._at = at
        self._valid_at = valid_at
        self._is_past = is_past

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
        """Return the links as of the engine's own instant; see `Explorer.links`."""
        rows = await fetch(
            self._connection,
            "fetch_links_at",
            **caller.parameters(),
            frontier=list(frontier),
            at=self._at,
            valid_at=self._valid_at,
            is_past=self._is_past,
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
        """Return the plans that were current as of the engine's instant and have all words of `ops`."""
        return await search_all_words_at(
            self._connection, caller, " ".join(ops), types=[MemoryType.PLAN_GRAPH], at=self._at, limit=most
        )

    async def degrees(self, caller: Caller, ids: Collection[UUID]) -> dict[UUID, int]:
        """Return the number of links of each of `ids`, up to DEGREE_CAP."""
        found = dict.fromkeys(ids, 0)
        links = await self.links(caller, list(ids), at=self._at, most=DEGREE_CAP, dependents=False, excluded=())
        for link in links.found:
            found[link.near] = min(DEGREE_CAP, found[link.near] + 1)
        return found

    async def between(
        self, caller: Caller, ids: Collection[UUID], others: Collection[UUID], *, most: int
    ) -> list[UUID]:
        """Return the relations between `ids`, or from these to `others`, all of which must have been current."""
        rows = await fetch(
            self._connection,
            "relations_between_at",
            **caller.parameters(),
            ids=list(ids),
            others=list({*ids, *others}),
            at=self._at,
            most=most,
        )
        return [row["id"] for row in rows]
