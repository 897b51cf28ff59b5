"""Which engine walks the graph, and what happens when it cannot."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.graph_sync.reader import READ_TIMEOUT_S
from stratagraph.store.errors import MirrorUnavailable
from stratagraph.store.feed import Feed
from stratagraph.store.past import PastGraphReader
from stratagraph.store.tenancy import Reach
from stratagraph.store.traversal import GraphReader, Limits, Neighbourhood, SqlGraphReader, neighbourhood

Preference = Literal["auto", "sql", "neo4j"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """A neighbourhood, the engine that found it, and why it was not the preferred one."""

    found: Neighbourhood
    engine: str
    fallback: str | None = None


class Engines:
    """SQL is always there. Neo4j is asked where it is preferred, and never waited for longer than its deadline.

    Bounded neighbourhoods are quicker in SQL on one machine (measured in the project's sync study), so `auto` means
    SQL; `neo4j` takes the load off the truth.
    """

    def __init__(self, *, mirror: GraphReader | None, feed: Feed | None, preference: Preference = "auto") -> None:
        self._mirror = mirror
        self._feed = feed
        self._preference = preference

    async def walk(
        self,
        connection: AsyncConnection,
        reach: Reach,
        roots: Sequence[UUID],
        limits: Limits,
        *,
        scores: Mapping[UUID, float],
        at_least: str | None,
        at: datetime | None = None,
    ) -> Walked:
        """Expand `roots`. `at_least` is a transaction id that the answer must reflect, `at` a past instant to walk at,
        of which the mirror knows nothing."""
        fallback = None
        if at is not None:
            if self._preference == "neo4j":
                fallback = "the mirror shows only the present"
        elif self._preference == "neo4j" and self._mirror is not None and roots and limits.hops:
            try:
                if at_least is None or (self._feed is not None and await self._feed.seen(at_least)):
                    async with asyncio.timeout(READ_TIMEOUT_S * limits.hops):
                        found = await neighbourhood(self._mirror, reach, roots, limits, scores=scores)
                    return Walked(found=found, engine=self._mirror.name)
                fallback = "the mirror has not reached the asked sequence yet"
            except MirrorUnavailable as error:
                fallback = error.message
            except TimeoutError:
                fallback = f"the mirror took longer than {READ_TIMEOUT_S * limits.hops:.0f} s"
        sql: GraphReader = SqlGraphReader(connection=connection) if at is None else PastGraphReader(connection, at)
        found = await neighbourhood(sql, reach, roots, limits, scores=scores)
        return Walked(found=found, engine=sql.name, fallback=fallback)

    async def lag_seconds(self) -> float | None:
        """How old the oldest change is that the mirror lacks; None without a mirror."""
        if self._feed is None:
            return None
        lag = await self._feed.lag()
        return lag.seconds if lag is not None else None
