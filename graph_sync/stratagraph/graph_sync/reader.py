"""Traversal in Neo4j: the same search as in SQL, level by level, off the truth's machine."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from uuid import UUID

from stratagraph.graph_sync.history import CHECKPOINTS, check_position
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.statements import edges_of
from stratagraph.store.keys.tenancy import Caller
from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.traversal.neighbourhood import Edge

ID_LENGTH = 36  # letters of a UUID
LANES = 2  # statements of one level at a time
LEAST_OF_A_LANE = 32  # records; for fewer, a second statement costs more than it gains
READ_TIMEOUT_S = 2.0  # per level, after which Neo4j gives up; whoever walks gives up sooner


class Neo4jGraphReader:
    """GraphReader over the mirror. Raises MirrorUnavailable; whoever asks reads the records back from Postgres."""

    name = "neo4j"

    def __init__(self, mirror: Mirror, *, least: Freshness | None = None, timeout_s: float | None = None) -> None:
        """`timeout_s` is for those who have all the time in the world: to measure, not to answer."""
        self._mirror = mirror
        self._least = least
        self._timeout_s = timeout_s

    def expecting(self, least: Freshness) -> Neo4jGraphReader:
        """A reader that raises MirrorUnavailable where the mirror shows less than the truth knows it to have."""
        return Neo4jGraphReader(self._mirror, least=least, timeout_s=self._timeout_s)

    async def edges_of(self, caller: Caller, frontier: Sequence[UUID], *, fan_out: int, history: bool) -> list[Edge]:
        """A large frontier is halved: while one half is taken in here, Neo4j works on the other."""
        parts = min(LANES, max(1, len(frontier) // LEAST_OF_A_LANE))
        size = max(1, math.ceil(len(frontier) / parts))
        lanes = await asyncio.gather(
            *(
                self._edges_of(caller, frontier[start : start + size], fan_out=fan_out, history=history)
                for start in range(0, len(frontier), size)
            )
        )
        return [edge for lane in lanes for edge in lane]

    async def _edges_of(self, caller: Caller, frontier: Sequence[UUID], *, fan_out: int, history: bool) -> list[Edge]:
        leaf = int(caller.ceiling) + 1
        text = edges_of(all_scopes=caller.scopes is None, all_levels=leaf >= max(Sensitivity), history=history)
        parameters = {
            "ten": caller.tenant.id,
            "frontier": [str(id_) for id_ in frontier],
            "fan_out": fan_out,
            "leaf": leaf,
            "checkpoints": CHECKPOINTS if self._least is not None else [],
            "acls": [number for level in range(leaf + 1) for number in caller.acls(level)],
        }
        row = (await self._mirror.read(text, parameters, timeout_s=self._timeout_s or READ_TIMEOUT_S))[0]
        if self._least is not None:
            check_position(row, self._least)
        try:
            return [
                Edge(UUID(ids[:ID_LENGTH]), frontier[near], UUID(ids[ID_LENGTH:]), weight, acl)
                for near, ids, weight, acl in zip(row["near"], row["ids"], row["weight"], row["acl"], strict=True)
                if ids
            ]
        except (ValueError, TypeError) as error:  # whoever may write to Neo4j may write anything
            raise MirrorUnavailable("the mirror holds what nobody mirrored; it is being healed") from error
