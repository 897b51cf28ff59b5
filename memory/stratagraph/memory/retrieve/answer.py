"""The answer of a retrieval, assembled from what Postgres confirmed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from stratagraph.memory.plans.composing import derived_id
from stratagraph.memory.retrieve.candidates import Why
from stratagraph.memory.retrieve.needed_tools import Composed
from stratagraph.memory.retrieve.procedures import Selection
from stratagraph.memory.retrieve.question import AskedWords
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.times import NamedTime
from stratagraph.memory.retrieve.weights import HOP
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.records.procedures import PROCEDURES


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
    asked for; `citations` are the records of its lines. For `engine`, `fallback` and `mirror_lag_seconds` see
    AnsweredBy. `vector_fallback` is why no vectors
    were searched although there is an embedder. `times` are those that the task names, by which its records were
    ranked. `at` is the past instant that the answer is as of, None for the present. `composed` are the id and the
    `plan_id` of the root that is a composed plan, None without one, and `parts` the records that it was composed of.
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
    citations: tuple[UUID, ...]
    nothing_known: bool
    times: tuple[NamedTime, ...]
    at: datetime | None
    composed: tuple[UUID, str] | None
    parts: tuple[UUID, ...]


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
    outward: dict[int, list[tuple[UUID, UUID, float]]] = {}  # by the hop of the far end
    for edge in edges:
        source, target = hops[edge.source], hops[edge.target]
        if target == source + 1:
            outward.setdefault(target, []).append((edge.source, edge.target, edge.weight))
        elif source == target + 1:
            outward.setdefault(source, []).append((edge.target, edge.source, edge.weight))
    for hop in sorted(outward):
        for near, far, weight in outward[hop]:
            passed = inherited[near] * weight * HOP + scores.get(far, 0.0)
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


def with_composed(
    composed: Composed,
    roots: Sequence[UUID],
    nodes: Sequence[Node],
    edges: Sequence[Relation],
    *,
    request: RetrieveRequest,
) -> tuple[list[UUID], list[Node], list[Relation]]:
    """Return the answer with a composed plan before its first skill or plan, and with the parts of the plan.

    What is beyond the request's limits on nodes and edges is left out, last parts and neighbours first.
    """
    plan = composed.record
    of_roots = [node for node in nodes if node.root]
    place = next((at for at, node in enumerate(of_roots) if node.record.type in PROCEDURES), len(of_roots))
    score = max((node.score for node in of_roots[place:]), default=composed.why.fused)
    root = Node(record=plan, root=True, hop=0, score=score, strength=composed.why.strength, why=composed.why)
    known = {node.record.id for node in nodes}
    parts = [
        Node(record=part.record, root=False, hop=1, score=score * HOP, strength=0.0, why=Why(via=plan.id))
        for part in composed.parts
        if part.record.id not in known and request.reaches(part.record.type)
    ]
    others = [node for node in nodes if not node.root]
    found = [*of_roots[:place], root, *of_roots[place:], *parts, *others][: request.node_limit]
    shown = {node.record.id for node in found}
    relations = [
        Relation(
            id=derived_id(plan.id, part.record.id),
            source=plan.id,
            target=part.record.id,
            predicate="derived_from",
            weight=1.0,
            created_at=part.record.created_at,
        )
        for part in composed.parts
    ]
    linked = [one for one in [*relations, *edges] if {one.source, one.target} <= shown]
    return [*roots[:place], plan.id, *roots[place:]], found, linked[: request.edge_limit]


def _explained(why: Why | None, via: UUID | None) -> Why:
    if why is None:
        return Why(via=via)
    return why if via is None else replace(why, via=via)
