"""The answers of graph questions. The GraphQL types and the JSON of the commands take their fields from these."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from stratagraph.memory.engines.choice import AnsweredBy
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord, Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A path between two records: n + 1 `nodes`, and the n `relations` between them in order.

    `weight` is the product of the relations' weights; `sentence` writes the path in one line.
    """

    sentence: str
    weight: float
    nodes: tuple[MemoryRecord, ...]
    relations: tuple[Relation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """The best paths between two records. `reached` names the limits that cut the search: hops, hubs, nodes, paths."""

    paths: tuple[Path, ...]
    reached: tuple[str, ...]
    hubs: tuple[UUID, ...]
    answered_by: AnsweredBy


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactCount:
    """The number of affected records of one type at one distance."""

    hop: int
    type: MemoryType
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedRecord:
    """A record that depends on the one asked about.

    `strength` is the greatest product of weights along a path to it, and `via_id` the record before it on that path,
    which at hop 1 is the record asked about.
    """

    record: MemoryRecord
    hop: int
    strength: float
    via_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """The dependents of a record: all counted by hop and type, and the most important ones as `nodes`.

    `reached` names the limits that cut the search: hops, hubs, nodes.
    """

    record: MemoryRecord
    counts: tuple[ImpactCount, ...]
    total: int
    nodes: tuple[AffectedRecord, ...]
    reached: tuple[str, ...]
    hubs: tuple[UUID, ...]
    answered_by: AnsweredBy


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedStep:
    """A step of a plan, by its id within the plan, and the op that it matches."""

    id: str
    op: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedPlan:
    """A plan, and one step for each op asked for, in the order asked for."""

    record: MemoryRecord
    steps: tuple[MatchedStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """Plans with the asked steps in the asked order, newest first.

    `reached` is `plans` where there were more candidates than are read.
    """

    plans: tuple[MatchedPlan, ...]
    has_more: bool
    reached: tuple[str, ...]
    answered_by: AnsweredBy


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedEntity:
    """An entity that shares memories with the one asked about.

    `shared` counts these memories, `weight` sums the products of both links' weights, and `memory_ids` are the
    heaviest of them.
    """

    entity: MemoryRecord
    shared: int
    weight: float
    memory_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """Entities that share memories with a record, heaviest first. `reached` is `hubs` where the search was cut."""

    record: MemoryRecord
    entities: tuple[RelatedEntity, ...]
    has_more: bool
    reached: tuple[str, ...]
    hubs: tuple[UUID, ...]
    answered_by: AnsweredBy


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourRecord:
    """A record next to the one expanded, with the weight of the heaviest relation between them.

    `degree` is the number of relations that could be followed from it, counted up to 100; `more` is how many of these
    are not in the answer; `hub` is whether the count reached 100.
    """

    record: MemoryRecord
    weight: float
    degree: int
    more: int
    hub: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """What a front end adds to its drawing when a record is expanded.

    `relations` lead from the record to its neighbours; `between` joins these with each other and with the loaded ones.
    """

    record: MemoryRecord
    neighbours: tuple[NeighbourRecord, ...]
    relations: tuple[Relation, ...]
    between: tuple[Relation, ...]
    has_more: bool
    answered_by: AnsweredBy
