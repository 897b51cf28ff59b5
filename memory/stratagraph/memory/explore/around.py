"""What is next to a record: entities it shares memories with, and neighbours for a front end that has some already."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from stratagraph.memory.explore.session import FAN_OUT, QuerySession, at_their_limit, fan_out
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import Relation
from stratagraph.store.traversal.links import DEGREE_CAP, Link

MEMORIES = 2 * FAN_OUT  # followed from an entity, per direction
NEIGHBOURS = 2 * FAN_OUT  # links read for one page of neighbours, per direction
BETWEEN = 500  # relations shown between records of a drawing
NAMED = 5  # of what two entities share


@dataclass(frozen=True, slots=True)
class Sharing:
    """An entity, how many memories it shares with the one asked about, how strongly, and the first of these."""

    id: UUID
    shared: int
    weight: float
    memories: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A record next to the one expanded. `degree` counts what could be followed from it, to DEGREE_CAP; `more` what
    of that is not in the answer."""

    id: UUID
    weight: float
    degree: int
    more: int

    @property
    def hub(self) -> bool:
        return self.degree >= DEGREE_CAP


async def sharing(session: QuerySession, entity: UUID) -> tuple[list[Sharing], list[UUID]]:
    """Entities that memories have in common with `entity`, the strongest first, and the hubs on the way."""
    links, heads = await session.confirmed(await session.links([entity], most=MEMORIES))
    hubs = at_their_limit(links, MEMORIES)
    memories = _heaviest(link for link in links if heads[link.far].type is not MemoryType.ENTITY)
    order = sorted(memories, key=lambda id_: (-memories[id_], id_.int))
    most = fan_out(len(order))
    links, heads = await session.confirmed(await session.links(order, most=most, besides=[entity]))
    hubs += at_their_limit(links, most)
    weights: dict[UUID, dict[UUID, float]] = defaultdict(dict)
    for link in links:
        if heads[link.far].type is MemoryType.ENTITY:
            passed = memories[link.near] * link.weight
            weights[link.far][link.near] = max(weights[link.far].get(link.near, 0.0), passed)
    found = [_shared(id_, by_memory) for id_, by_memory in weights.items()]
    found.sort(key=lambda one: (-one.weight, -one.shared, one.id.int))
    return found, hubs


def _shared(id_: UUID, by_memory: dict[UUID, float]) -> Sharing:
    memories = sorted(by_memory, key=lambda memory: (-by_memory[memory], memory.int))
    return Sharing(id_, len(memories), sum(by_memory[memory] for memory in memories), tuple(memories[:NAMED]))


def _heaviest(links: Iterable[Link]) -> dict[UUID, float]:
    weights: dict[UUID, float] = {}
    for link in links:
        weights[link.far] = max(weights.get(link.far, 0.0), link.weight)
    return weights


@dataclass(frozen=True, slots=True)
class NeighbourPage:
    """`relations` lead from the record to its neighbours, `between` join these with each other and what is loaded."""

    neighbours: tuple[Neighbour, ...]
    relations: tuple[Relation, ...]
    between: tuple[Relation, ...]
    has_more: bool


async def neighbours(session: QuerySession, id_: UUID, loaded: Collection[UUID], *, first: int) -> NeighbourPage:
    """The best `first` neighbours that are not loaded: by weight, then by what matters more now, then by id."""
    links, heads = await session.confirmed(await session.links([id_], most=NEIGHBOURS, besides=loaded))
    weights = _heaviest(links)
    order = sorted(weights, key=lambda far: (-weights[far], -heads[far].salience * heads[far].confidence, far.int))
    shown = dict.fromkeys(order[:first])
    relations = await session.relations(link.id for link in links if link.far in shown)
    between = await session.between(shown, [other for other in loaded if other != id_], most=BETWEEN)
    degrees = await session.degrees(shown)
    drawn: Counter[UUID] = Counter()
    back = relations.values() if await session.current([id_]) else ()  # to what is past, nobody could follow them
    for relation in [*back, *between]:
        drawn.update((relation.source, relation.target))
    return NeighbourPage(
        tuple(Neighbour(far, weights[far], degrees[far], max(0, degrees[far] - drawn[far])) for far in shown),
        tuple(relations.values()),
        tuple(between),
        len(order) > first or bool(at_their_limit(links, NEIGHBOURS)),
    )
