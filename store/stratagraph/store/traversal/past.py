"""Traversal of the graph as of a past instant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import RecordState
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.traversal.neighbourhood import Edge


class PastGraphReader:
    """Follows relations as of a past instant, in Postgres, to records the caller may read in full then and now."""

    name = "sql"

    def __init__(self, connection: AsyncConnection, valid_at: datetime | None = None) -> None:
        self._connection = connection
        self._valid_at = valid_at

    async def edges_of(
        self, caller: Caller, frontier: Sequence[UUID], *, at: datetime, fan_out: int, history: bool
    ) -> list[Edge]:
        rows = await self._edges(caller, frontier, at=at, fan_out=fan_out, history=history)
        return [Edge(row["id"], row["near"], row["far"], row["weight"], row["acl"]) for row in rows]

    async def links_of(
        self, caller: Caller, frontier: Sequence[UUID], *, at: datetime, fan_out: int
    ) -> list[tuple[UUID, UUID, str]]:
        """Return the edges to records that were current, as the record of the frontier, the other, and the predicate.

        As many as `edges_of` returns, per record and direction.
        """
        rows = await self._edges(caller, frontier, at=at, fan_out=fan_out, history=False)
        return [(row["near"], row["far"], row["predicate"]) for row in rows]

    async def _edges(
        self, caller: Caller, frontier: Sequence[UUID], *, at: datetime, fan_out: int, history: bool
    ) -> list[dict[str, Any]]:
        return await fetch(
            self._connection,
            "edges_of_at",
            **caller.parameters(),
            frontier=list(frontier),
            at=at,
            valid_at=self._valid_at or at,
            fan_out=fan_out,
            newest_state=int(RecordState.RETRACTED if history else RecordState.CONTESTED),
            history=history,
        )
