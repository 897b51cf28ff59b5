"""The records that refer to a record or rest on it, level by level; Postgres confirms each before the next is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from uuid import UUID

from stratagraph.memory.explore.answers import AffectedRecord, Impact, ImpactCount
from stratagraph.memory.explore.session import EXPANDED, LEVEL_LINKS, QuerySession
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.traversal.links import Link

FROM_ONE = 500  # links followed from a single record, so that its first level is counted well
_SALIENCE_FLOOR = 0.3  # share of the importance that no loss of salience takes


async def find_impact(session: QuerySession, id_: UUID, *, hops: int, first: int) -> Impact | None:
    """Return the dependents of a record within `hops`, by hop and then the most important first; at most `first`.

    None if the caller may not read the record in full, or if it does not exist.
    """
    root = (await session.in_full([id_])).get(id_)
    if root is None:
        return None
    strength = {id_: 1.0}
    found: list[AffectedRecord] = []  # with heads of the records; those of the answer are read in full at the end
    hubs: list[UUID] = []
    reached: set[str] = set()
    frontier = [id_]
    for hop in range(1, hops + 1):
        most = max(1, min(FROM_ONE, LEVEL_LINKS // len(frontier)))
        links, heads = await session.confirmed(await session.links(frontier, most=most, dependents=True))
        hubs += session.hubs(links, most)
        level = _next_level(hop, links, heads, strength)
        strength.update((one.record.id, one.strength) for one in level)
        found += level
        frontier = [one.record.id for one in level[:EXPANDED]]
        if not frontier:
            break
        if len(level) > EXPANDED and hop < hops:
            reached.add("nodes")
    else:
        reached.add("hops")
    if hubs:
        reached.add("hubs")
    records = await session.shown({one.record.id for one in found[:first]})
    counts = Counter((one.hop, one.record.type) for one in found)
    return Impact(
        record=root,
        counts=tuple(ImpactCount(hop=hop, type=type_, count=counts[hop, type_]) for hop, type_ in sorted(counts)),
        total=len(found),
        nodes=tuple(replace(one, record=records[one.record.id]) for one in found[:first]),
        reached=tuple(sorted(reached)),
        hubs=tuple(dict.fromkeys(hubs)),
        answered_by=session.answered_by,
        as_of=session.as_of,
    )


def _next_level(
    hop: int, links: Iterable[Link], heads: Mapping[UUID, MemoryRecord], strength: Mapping[UUID, float]
) -> list[AffectedRecord]:
    """Return the records that `links` lead to for the first time, the most important first."""
    best: dict[UUID, tuple[float, UUID]] = {}
    for link in links:
        if link.far not in strength:
            passed = strength[link.near] * link.weight
            if link.far not in best or (-passed, link.near.int) < (-best[link.far][0], best[link.far][1].int):
                best[link.far] = passed, link.near
    return sorted(
        (
            AffectedRecord(record=heads[id_], hop=hop, strength=passed, via_id=near)
            for id_, (passed, near) in best.items()
        ),
        key=lambda one: (-one.strength * _lasting(one.record), one.record.id.int),
    )


def _lasting(head: MemoryRecord) -> float:
    """How far a record matters now, in [0, 1]: bounded factors, as in retrieval."""
    return (_SALIENCE_FLOOR + (1 - _SALIENCE_FLOOR) * head.salience) * head.confidence
