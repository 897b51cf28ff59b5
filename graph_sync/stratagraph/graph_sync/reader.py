"""Traversal in Neo4j: the same search as in SQL, level by level, without load on Postgres."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from stratagraph.graph_sync.checkpoints import CHECKPOINTS, check_position
from stratagraph.graph_sync.mapping import microseconds
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.statements import edges_statement
from stratagraph.store.keys.callers import Caller
from stratagraph.store.mirror.freshness import Freshness
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.traversal.links import TooManyRelations
from stratagraph.store.traversal.neighbourhood import Edge

ID_LENGTH = 36  # characters of a UUID
PARALLEL_READS = 2  # statements of one level at a time
MIN_PER_READ = 32  # records; for fewer, a second statement costs more than it gains
MOST_READ = 100_000  # relationships of the records of one statement; they take a fraction of READ_TIMEOUT_S
READ_TIMEOUT_S = 2.0  # per level, after which Neo4j aborts the statement; the traversal's own deadline is shorter


class Neo4jGraphReader:
    """A `GraphReader` that reads the mirror. It returns edges with ids; the caller reads the records from Postgres.

    Reading raises MirrorUnavailable if the mirror cannot be reached or takes too long, and TooManyRelations if one
    statement would have to read more than MOST_READ relationships: Neo4j has no index of one node's by weight, so it
    reads all that a record has, current or not, where Postgres reads the heaviest.
    """

    name = "neo4j"

    def __init__(self, mirror: Mirror, *, least: Freshness | None = None, timeout_s: float | None = None) -> None:
        """Without `least`, the position is not checked. `timeout_s` replaces READ_TIMEOUT_S in measurements."""
        self._mirror = mirror
        self._least = least
        self._timeout_s = timeout_s

    def expecting(self, least: Freshness) -> Neo4jGraphReader:
        """Return a reader that raises MirrorUnavailable if the mirror's position is behind `least`."""
        return Neo4jGraphReader(self._mirror, least=least, timeout_s=self._timeout_s)

    async def edges_of(
        self, caller: Caller, frontier: Sequence[UUID], *, at: datetime, fan_out: int, history: bool
    ) -> list[Edge]:
        """Return the heaviest edges of the frontier's records, at most `fan_out` per record and direction.

        With `history`, edges to records that are not current at `at` are included. A large frontier is read in two
        statements at a time, so that Neo4j works on one while the rows of the other are converted here.
        """
        parts = min(PARALLEL_READS, max(1, len(frontier) // MIN_PER_READ))
        size = max(1, math.ceil(len(frontier) / parts))
        pages = await asyncio.gather(
            *(
                self._edges_of(caller, frontier[start : start + size], at=at, fan_out=fan_out, history=history)
                for start in range(0, len(frontier), size)
            )
        )
        return [edge for page in pages for edge in page]

    async def _edges_of(
        self, caller: Caller, frontier: Sequence[UUID], *, at: datetime, fan_out: int, history: bool
    ) -> list[Edge]:
        leaf = int(caller.ceiling) + 1
        text = edges_statement(
            all_scopes=caller.scopes is None,
            all_levels=leaf >= max(Sensitivity),
            has_redacted=leaf <= max(Sensitivity),
            history=history,
        )
        parameters = {
            "ten": caller.tenant.id,
            "frontier": [str(id_) for id_ in frontier],
            "at": microseconds(at),
            "fan_out": fan_out,
            "most_read": MOST_READ,
            "leaf": leaf,
            "checkpoints": CHECKPOINTS if self._least is not None else [],
            "acls": [number for level in range(leaf + 1) for number in caller.acls(level)],
        }
        row = (await self._mirror.read(text, parameters, timeout_s=self._timeout_s or READ_TIMEOUT_S))[0]
        if self._least is not None:
            check_position(row, self._least)
        if row["relations"] > MOST_READ:
            raise TooManyRelations
        try:
            return [
                Edge(UUID(ids[:ID_LENGTH]), frontier[near], UUID(ids[ID_LENGTH:]), float(weight), int(acl))
                for near, ids, weight, acl in zip(row["near"], row["ids"], row["weight"], row["acl"], strict=True)
                if ids
            ]
        except (ValueError, TypeError, AttributeError) as error:  # a user who can write to Neo4j can write any value
            raise MirrorUnavailable(
                "the mirror holds values that its worker did not write; it will repair them, and PostgreSQL was read"
            ) from error
