"""The types of records to which a search of the graph follows relations, hop by hop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.queries import fetch

TypesOf = Callable[[Collection[UUID]], Awaitable[Mapping[UUID, MemoryType]]]


@dataclass(frozen=True, slots=True)
class HopTypes:
    """The types of the records that a search may reach at each hop, from the first; any where a hop has none.

    `types_of` returns the types of records that the caller may see, also redacted; others are left out.
    """

    types: Sequence[Collection[MemoryType]]
    types_of: TypesOf

    async def among(self, ids: Collection[UUID], hop: int) -> Collection[UUID]:
        """Return the records among `ids` that may be reached at a hop."""
        allowed = self.types[hop - 1] if hop <= len(self.types) else ()
        if not allowed or not ids:
            return ids
        return {id_ for id_, type_ in (await self.types_of(ids)).items() if type_ in allowed}


async def fetch_types(connection: AsyncConnection, caller: Caller, ids: Collection[UUID]) -> dict[UUID, MemoryType]:
    """Return the types of the records among `ids` that the caller may see, in full or redacted."""
    rows = await fetch(connection, "fetch_types", **caller.parameters(), ids=list(ids))
    return {row["id"]: MemoryType(row["type"]) for row in rows}
