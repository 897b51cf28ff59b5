"""Questions about how records hang together, as an engine answers them: links of some records, plans by their steps.

One protocol for both engines. What is made of the links (paths, impact, what is shared) is decided by whoever asks,
in one place, so that the engines agree. Only what the caller may see in full is met here: nobody walks on a leaf.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.tenancy import Caller
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.predicates import DERIVATIONS
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.search.word_search import search_all_words

STEPS_APART = 64  # links of a plan followed from one asked step to the next
PLAN_CANDIDATES = 300  # plans looked at for one question
DEGREE_CAP = 100  # relations counted at a record; as many or more make it a hub


@dataclass(frozen=True, slots=True)
class Link:
    """A live relation as an engine found it at `near`; `outgoing` if `near` is its source."""

    id: UUID
    near: UUID
    far: UUID
    weight: float
    outgoing: bool


class Explorer(Protocol):
    """An engine that answers about structure under a caller's reach."""

    name: str
    plans_up_to: Sensitivity  # beyond it the engine does not know the steps of plans

    async def links(
        self, caller: Caller, frontier: Sequence[UUID], *, most: int, dependents: bool, besides: Collection[UUID]
    ) -> list[Link]:
        """Of each frontier record and in each direction, the `most` heaviest links (then by id) to other current
        records in full sight, `besides` excepted.

        With `dependents`, only to those that refer to the frontier record or rest on it: against the direction of a
        relation, but for derivations, which lead from what holds a record to what rests on it.
        """
        ...

    async def plans(self, caller: Caller, ops: Sequence[str], *, most: int) -> list[UUID]:
        """Current plans in full sight that may have steps of these ops in this order; at most `most`."""
        ...


class SqlExplorer:
    """In Postgres itself: always there, never behind."""

    name = "sql"
    plans_up_to = Sensitivity.HYPER

    def __init__(self, connection: AsyncConnection, now: datetime) -> None:
        self._connection = connection
        self._now = now

    async def links(
        self, caller: Caller, frontier: Sequence[UUID], *, most: int, dependents: bool, besides: Collection[UUID]
    ) -> list[Link]:
        rows = await fetch(
            self._connection,
            "fetch_links",
            **caller.parameters(),
            frontier=list(frontier),
            most=most,
            dependents=dependents,
            derivations=sorted(DERIVATIONS),
            besides=list(besides),
        )
        return [Link(row["id"], row["near"], row["far"], row["weight"], row["outgoing"]) for row in rows]

    async def plans(self, caller: Caller, ops: Sequence[str], *, most: int) -> list[UUID]:
        """By the words of the ops, which a plan's text lists: the best by BM25."""
        return await search_all_words(
            self._connection, caller, " ".join(ops), types=[MemoryType.PLAN_GRAPH], now=self._now, limit=most
        )


async def degrees(connection: AsyncConnection, caller: Caller, ids: Collection[UUID]) -> dict[UUID, int]:
    """How many relations the caller could follow from each of `ids`, counted to DEGREE_CAP."""
    if not ids:
        return {}
    rows = await fetch(connection, "count_degrees", **caller.parameters(), ids=list(ids), most=DEGREE_CAP)
    return {row["id"]: row["degree"] for row in rows}


async def relations_between(
    connection: AsyncConnection, caller: Caller, ids: Collection[UUID], others: Collection[UUID], *, most: int
) -> list[UUID]:
    """Ids of the live relations that have one end in `ids` and the other in `ids` or `others`, heaviest first; both
    ends current and in full sight."""
    if not ids:
        return []
    rows = await fetch(
        connection,
        "relations_between",
        **caller.parameters(),
        ids=list(ids),
        others=list({*ids, *others}),
        most=most,
    )
    return [row["id"] for row in rows]


def steps_in_order(payload: Mapping[str, Any], ops: Sequence[str]) -> list[str] | None:
    """Ids of steps of these ops, each reached from the one before over at most STEPS_APART links; None without.

    Of several, those listed first in the plan, the last step chosen first.

    >>> plan = {"nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "test"}], "edges": [{"from": "a", "to": "b"}]}
    >>> steps_in_order(plan, ["build", "test"]), steps_in_order(plan, ["test", "build"])
    (['a', 'b'], None)
    """
    after: dict[str, list[str]] = {}
    for edge in payload["edges"]:
        after.setdefault(edge["from"], []).append(edge["to"])
    place = {node["id"]: position for position, node in enumerate(payload["nodes"])}
    of_op: dict[str, list[str]] = {}
    for node in payload["nodes"]:
        of_op.setdefault(node["op"], []).append(node["id"])
    levels: list[dict[str, str | None]] = [dict.fromkeys(of_op.get(ops[0], ()))]
    for op in ops[1:]:
        wanted = set(of_op.get(op, ()))
        level: dict[str, str | None] = {}
        for near in sorted(levels[-1], key=place.__getitem__):  # so that the first that reaches a step is kept
            for far in _reached(after, near) & wanted:
                level.setdefault(far, near)
        levels.append(level)
    if not levels[-1]:
        return None
    step: str | None = min(levels[-1], key=place.__getitem__)
    steps: list[str] = []
    for known in reversed(levels):
        assert step is not None
        steps.append(step)
        step = known[step]
    return steps[::-1]


def _reached(after: Mapping[str, Sequence[str]], start: str) -> set[str]:
    found: set[str] = set()
    frontier = [start]
    for _ in range(STEPS_APART):
        frontier = [far for near in frontier for far in after.get(near, ()) if far not in found]
        frontier = list(dict.fromkeys(frontier))
        if not frontier:
            break
        found.update(frontier)
    return found
