"""What refers to a record or rests on it, level by level: each level is confirmed before the next is asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from stratagraph.memory.explore.session import EXPANDED, LEVEL_LINKS, QuerySession, at_their_limit
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord

FROM_ONE = 1_000  # links followed from a single record, so that its first level is counted well
_SALIENCE_FLOOR = 0.3  # a bounded factor, as in retrieval: what has faded still counts a little


@dataclass(frozen=True, slots=True)
class Affected:
    """A record that depends on the one asked about. `strength` is the heaviest product of weights that leads to it,
    `via` the record before it on that way."""

    id: UUID
    hop: int
    strength: float
    importance: float
    via: UUID


@dataclass(slots=True)
class Dependents:
    """All that was found. `hubs` are records of which not all dependents were followed."""

    affected: list[Affected]
    counts: dict[tuple[int, MemoryType], int]
    hubs: list[UUID]
    reached: set[str]


async def spread(session: QuerySession, root: UUID, *, hops: int) -> Dependents:
    """Dependents within `hops`, by hop and then the most important first."""
    strength = {root: 1.0}
    found = Dependents([], {}, [], set())
    frontier = [root]
    for hop in range(1, hops + 1):
        most = max(1, min(FROM_ONE, LEVEL_LINKS // len(frontier)))
        level, heads = await session.confirmed(await session.links(frontier, most=most, dependents=True))
        found.hubs += at_their_limit(level, most)
        via: dict[UUID, tuple[float, UUID]] = {}
        for link in level:
            if link.far not in strength:
                passed = strength[link.near] * link.weight
                if link.far not in via or (-passed, link.near.int) < (-via[link.far][0], via[link.far][1].int):
                    via[link.far] = passed, link.near
        strength.update((id_, passed) for id_, (passed, _) in via.items())
        ranked = sorted(
            (Affected(id_, hop, passed, passed * _lasting(heads[id_]), near) for id_, (passed, near) in via.items()),
            key=lambda one: (-one.importance, one.id.int),
        )
        found.affected += ranked
        found.counts.update(_by_type(hop, ranked, heads))
        frontier = [one.id for one in ranked[:EXPANDED]]
        if not frontier:
            break
        if len(ranked) > EXPANDED and hop < hops:
            found.reached.add("nodes")
    else:
        found.reached.add("hops")
    if found.hubs:
        found.reached.add("hubs")
    return found


def _lasting(head: MemoryRecord) -> float:
    return (_SALIENCE_FLOOR + (1 - _SALIENCE_FLOOR) * head.salience) * head.confidence


def _by_type(hop: int, level: list[Affected], heads: Mapping[UUID, MemoryRecord]) -> dict[tuple[int, MemoryType], int]:
    counted = Counter(heads[one.id].type for one in level)
    return {(hop, memory_type): counted[memory_type] for memory_type in sorted(counted)}
