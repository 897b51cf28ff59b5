"""Traversal in Neo4j: the same search as in SQL, level by level, off the truth's machine."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.statements import edges_of
from stratagraph.store.tenancy import Reach
from stratagraph.store.traversal import Edge

READ_TIMEOUT_S = 2.0  # per level; beyond it the caller falls back to SQL


class Neo4jGraphReader:
    """GraphReader over the mirror. Raises MirrorUnavailable; whoever asks reads the records back from Postgres."""

    name = "neo4j"

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    async def edges_of(self, reach: Reach, frontier: Sequence[UUID], *, fan_out: int, history: bool) -> list[Edge]:
        all_scopes = reach.scopes is None
        leaf = int(reach.ceiling) + 1
        parameters = {
            "ten": reach.tenant.id,
            "frontier": [str(id_) for id_ in frontier],
            "fan_out": fan_out,
            "leaf": leaf,
            "acls": [number for level in range(leaf + 1) for number in reach.acls(level)],
        }
        rows = await self._mirror.read(
            edges_of(all_scopes=all_scopes, history=history), parameters, timeout_s=READ_TIMEOUT_S
        )
        row = rows[0]
        return [
            Edge(UUID(id_), UUID(near), UUID(far), weight, acl)
            for id_, near, far, weight, acl in zip(
                row["id"], row["near"], row["far"], row["weight"], row["acl"], strict=True
            )
        ]
