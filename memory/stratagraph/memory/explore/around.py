"""The surroundings of a record: entities that share memories with it, and neighbours that a drawing lacks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from uuid import UUID

from stratagraph.memory.explore.answers import Expansion, NeighbourRecord, Position, Related, RelatedEntity
from stratagraph.memory.explore.request import MAX_LOADED
from stratagraph.memory.explore.session import FAN_OUT, QuerySession, fan_out
from stratagraph.memory.records.cursors import encode_ids
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.traversal.links import DEGREE_CAP, Link

MEMORIES = 2 * FAN_OUT  # links followed from an entity, per direction
NEIGHBOURS = 2 * FAN_OUT  # links read for one page of neighbours, per direction
BETWEEN = 500  # relations shown between records of a drawing
NAMED = 5  # memories named of those that two entities share


async def find_related(session: QuerySession, id_: UUID, *, first: int) -> Related | None:
    """Return the entities that share memories with a record, heaviest first; at most `first`.

    None if the caller may not read the record in full, or if it does not exist.
    """
    root = (await session.in_full([id_])).get(id_)
    if root is None:
        return None
    links, heads = await session.confirmed(await session.links([id_], most=MEMORIES))
    hubs = session.hubs(links, MEMORIES)
    memories = _heaviest(link for link in links if heads[link.far].type is not MemoryType.ENTITY)
    order = sorted(memories, key=lambda memory: (-memories[memory], memory.int))
    most = fan_out(len(order))
    links, heads = await session.confirmed(await session.links(order, most=most, excluded=[id_]))
    hubs += session.hubs(links, most)
    shared: dict[UUID, dict[UUID, float]] = defaultdict(dict)  # by entity and memory, the product of both weights
    for link in links:
        if heads[link.far].type is MemoryType.ENTITY:
            product = memories[link.near] * link.weight
            shared[link.far][link.near] = max(shared[link.far].get(link.near, 0.0), product)
    entities = [_related_entity(heads[entity], products) for entity, products in shared.items()]
    entities.sort(key=lambda one: (-one.weight, -one.shared, one.entity.id.int))
    records = await session.shown({one.entity.id for one in entities[:first]})
    return Related(
        record=root,
        entities=tuple(replace(one, entity=records[one.entity.id]) for one in entities[:first]),
        has_more=len(entities) > first,
        reached=("hubs",) if hubs else (),
        hubs=tuple(hubs),
        answered_by=session.answered_by,
        as_of=session.as_of,
    )


def _related_entity(entity: MemoryRecord, products: Mapping[UUID, float]) -> RelatedEntity:
    memories = sorted(products, key=lambda memory: (-products[memory], memory.int))
    return RelatedEntity(
        entity=entity,
        shared=len(memories),
        weight=sum(products[memory] for memory in memories),
        memory_ids=tuple(memories[:NAMED]),
    )


async def find_neighbours(
    session: QuerySession, id_: UUID, loaded: Collection[UUID], *, first: int, before: Collection[UUID] = ()
) -> Expansion | None:
    """Return the best `first` neighbours of a record that are not loaded: by weight, then by current importance, then
    by id.

    `before` are those of the loaded ones that were on pages before. None if the caller may not read the record in full,
    or if it does not exist.
    """
    root = (await session.in_full([id_])).get(id_)
    if root is None:
        return None
    links, heads = await session.confirmed(await session.links([id_], most=NEIGHBOURS, excluded=loaded))
    weights = _heaviest(links)
    order = sorted(weights, key=lambda far: (-weights[far], -heads[far].salience * heads[far].confidence, far.int))
    shown = dict.fromkeys(order[:first])
    relations = await session.relations(link.id for link in links if link.far in shown)
    between = await session.between(shown, [other for other in loaded if other != id_], most=BETWEEN)
    degrees = await session.degrees(shown)
    # `degrees` count relations to current records only, so those back to a record that is not current do not count.
    back = relations.values() if await session.current([id_]) else ()
    drawn = Counter(end for relation in (*back, *between) for end in (relation.source, relation.target))
    records = await session.shown(shown)
    more = len(order) > first or bool(session.hubs(links, NEIGHBOURS))
    ended_by = "hubs" if not shown else "loaded" if len({*loaded, *shown}) > MAX_LOADED else None
    return Expansion(
        record=root,
        neighbours=tuple(
            NeighbourRecord(
                record=records[far],
                weight=weights[far],
                degree=degrees[far],
                more=max(0, degrees[far] - drawn[far]),
                hub=degrees[far] >= DEGREE_CAP,
            )
            for far in shown
        ),
        relations=tuple(relations.values()),
        between=tuple(between),
        has_more=more and ended_by is None,
        page_info=Position(
            end_cursor=encode_ids(id_, {*before, *shown}) if shown else None, has_next=more and ended_by is None
        ),
        reached=(ended_by,) if more and ended_by is not None else (),
        answered_by=session.answered_by,
        as_of=session.as_of,
    )


def _heaviest(links: Iterable[Link]) -> dict[UUID, float]:
    """Return the greatest weight of a link to each far end."""
    weights: dict[UUID, float] = {}
    for link in links:
        weights[link.far] = max(weights.get(link.far, 0.0), link.weight)
    return weights
