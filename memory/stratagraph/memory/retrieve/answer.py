"""The answer of a retrieval, assembled from what Postgres confirmed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from stratagraph.memory.retrieve.asked_words import AskedWords
from stratagraph.memory.retrieve.rank import HOP, Why
from stratagraph.memory.retrieve.selection import Selection
from stratagraph.memory.retrieve.time_words import NamedTime
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.traversal.neighbourhood import Neighbourhood


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A record of the answer. `root` is whether the expansion began at it, `hop` its distance from the nearest root.

    `score` orders records of one hop. `strength` is the share of the question's words and names, weighted by their
    rarity, that the record covers: from 0 to 1, and comparable between answers. `why` is what made the record part of
    the answer. `duplicates` are the records that say the same, for which a root stands, best first.
    """

    record: MemoryRecord
    root: bool
    hop: int
    score: float
    strength: float
    why: Why
    duplicates: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """The answer: nodes best first, roots before the rest.

    `candidates` is the number of records that matched and were ranked, the roots among them and duplicates not.
    `reached` names the limits that cut the search: roots, nodes, edges, hops. `hubs` are records of the answer with
    more relations than were followed. `nothing_known` is whether the answer is empty because no record is strong
    enough. `selection` is None without a competence or plan among the roots, `rendering` None where no text was
    asked for. For `engine`, `fallback` and `mirror_lag_seconds` see AnsweredBy. `vector_fallback` is why no vectors
    were searched although there is an embedder. `times` are those that the task names, by which its records were
    ranked. `at` is the past instant that the answer is as of, None for the present.
    """

    id: UUID
    roots: tuple[UUID, ...]
    nodes: tuple[Node, ...]
    edges: tuple[Relation, ...]
    selection: Selection | None
    asked: AskedWords
    candidates: int
    reached: tuple[str, ...]
    hubs: tuple[UUID, ...]
    engine: str
    fallback: str | None
    mirror_lag_seconds: float | None
    vector_fallback: str | None
    rendering: str | None
    nothing_known: bool
    times: tuple[NamedTime, ...]
    at: datetime | None


def connected(
    roots: Sequence[UUID],
    found: Neighbourhood,
    records: Mapping[UUID, MemoryRecord],
    edges: Sequence[Relation],
    *,
    max_hops: int,
) -> tuple[dict[UUID, int], list[Relation]]:
    """Return the hops of the records, and the relations, that are still connected to the roots.

    A record that Postgres did not confirm must not connect others. So this expands the roots again over the relations
    and records that were read back, and never through a redacted one.
    """
    order = {id_: position for position, id_ in enumerate(found.edges)}
    usable = sorted(
        (edge for edge in edges if edge.source in records and edge.target in records), key=lambda edge: order[edge.id]
    )
    around: dict[UUID, list[Relation]] = {}
    for edge in usable:
        around.setdefault(edge.source, []).append(edge)
        around.setdefault(edge.target, []).append(edge)
    hops = {root: 0 for root in roots if root in records}
    frontier = list(hops)
    while frontier:
        reached = []
        for id_ in frontier:
            if records[id_].redacted or hops[id_] == max_hops:
                continue
            for edge in around.get(id_, ()):
                far = edge.target if edge.source == id_ else edge.source
                if far not in hops:
                    hops[far] = hops[id_] + 1
                    reached.append(far)
        frontier = reached
    kept = [
        edge
        for edge in usable
        if edge.source in hops
        and edge.target in hops
        and not (records[edge.source].redacted and records[edge.target].redacted)
    ]
    return hops, kept


def nodes_of(
    roots: Sequence[UUID],
    hops: Mapping[UUID, int],
    edges: Sequence[Relation],
    *,
    records: Mapping[UUID, MemoryRecord],
    scores: Mapping[UUID, float],
    why: Mapping[UUID, Why],
    duplicates: Mapping[UUID, Sequence[UUID]],
) -> list[Node]:
    """Return the roots in their order, then the others by hop and score.

    A neighbour inherits its score from the best record that leads to it, reduced by the relation's weight and HOP.
    """
    inherited = {id_: scores.get(id_, 0.0) for id_ in hops}
    via: dict[UUID, UUID] = {}
    for hop in range(1, max(hops.values(), default=0) + 1):
        for edge in edges:
            for near, far in ((edge.source, edge.target), (edge.target, edge.source)):
                if hops[far] == hop and hops[near] == hop - 1:
                    passed = inherited[near] * edge.weight * HOP + scores.get(far, 0.0)
                    if far not in via or passed > inherited[far]:
                        inherited[far], via[far] = passed, near
    chosen = set(roots)
    nodes = [
        Node(
            record=records[id_],
            root=id_ in chosen,
            hop=hop,
            score=inherited[id_],
            strength=why[id_].strength if id_ in why else 0.0,
            why=_explained(why.get(id_), via.get(id_)),
            duplicates=tuple(duplicates.get(id_, ())) if id_ in chosen else (),
        )
        for id_, hop in hops.items()
    ]
    positions = {root: position for position, root in enumerate(roots)}
    nodes.sort(key=lambda node: (node.hop, positions.get(node.record.id, 0), -node.score, node.record.id.int))
    return nodes


def _explained(why: Why | None, via: UUID | None) -> Why:
    found = why or Why()
    return replace(found, via=via)
