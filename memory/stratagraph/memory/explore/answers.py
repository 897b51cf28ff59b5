"""The answers of graph questions. The GraphQL types and the JSON of the commands take their fields from these.

The `as_of` of an answer is the past instant that its records are shown as of; None for the present.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.engines.service import AnsweredBy
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
    """The best paths between two records: those with fewest hops first, of these the heaviest.

    `reached` names the limits that cut the search: hops, hubs, nodes, paths. `hubs` are records with more relations
    than were followed.
    """

    paths: tuple[Path, ...]
    reached: tuple[str, ...]
    hubs: tuple[UUID, ...]
    answered_by: AnsweredBy
    as_of: datetime | None = None


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
    """The dependents of a record, which refer to it or are derived from it, directly or through others.

    `counts` counts all that were found by hop and type, `total` altogether; `nodes` are the first of them, by hop and
    then the most important. `reached` names the limits that cut the search: hops, hubs, nodes. `hubs` are records with
    more relations than were followed.
    """

    record: MemoryRecord
    counts: tuple[ImpactCount, ...]
    total: int
    nodes: tuple[AffectedRecord, ...]
    reached: tuple[str, ...]
    hubs: tuple[UUID, ...]
    answered_by: AnsweredBy
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedStep:
    """A step of a plan that was asked for: its id within the plan, and its operation `op`, such as deploy."""

    id: str
    op: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedPlan:
    """A plan, and one of its steps for each operation asked for, in the order asked for."""

    record: MemoryRecord
    steps: tuple[MatchedStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """Plans that have steps of the operations asked for, in the order asked for; the newest plan first.

    `reached` is `("plans",)` if there were more candidates than are read, so that plans may be missing; else empty.
    """

    plans: tuple[MatchedPlan, ...]
    has_more: bool
    reached: tuple[str, ...]
    answered_by: AnsweredBy
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedEntity:
    """An entity that shares memories with the one asked about.

    `shared` counts these memories. `weight` is the sum, over them, of the weight of the memory's link to the one entity
    times that of its link to the other. `memory_ids` are the few that contribute most.
    """

    entity: MemoryRecord
    shared: int
    weight: float
    memory_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    """Entities that share memories with a record, heaviest first.

    `reached` is `("hubs",)` if some record had more relations than were followed, and `hubs` names these records.
    """

    record: MemoryRecord
    entities: tuple[RelatedEntity, ...]
    has_more: bool
    reached: tuple[str, ...]
    hubs: tuple[UUID, ...]
    answered_by: AnsweredBy
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourRecord:
    """A record next to the one expanded, with the weight of the heaviest relation between them.

    `degree` is the number of relations that the caller could follow from it, counted up to 100; `more` is how many of
    these are not in the answer; `hub` is whether the count reached 100.
    """

    record: MemoryRecord
    weight: float
    degree: int
    more: int
    hub: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """The position of a page: the cursor after which the next one begins, None on an empty page."""

    end_cursor: str | None
    has_next: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """The records and relations that a front end adds to its drawing when the user expands `record`.

    `relations` join the record to its neighbours. `between` join neighbours to each other, or to the records that the
    front end has loaded. `has_more` is whether a next page may have more neighbours. `reached` names what ended the
    pages where there may be more: `loaded`, since a front end may name so many records, or `hubs`, since so many
    relations of the record are read.
    """

    record: MemoryRecord
    neighbours: tuple[NeighbourRecord, ...]
    relations: tuple[Relation, ...]
    between: tuple[Relation, ...]
    has_more: bool
    page_info: Position
    reached: tuple[str, ...]
    answered_by: AnsweredBy
    as_of: datetime | None = None
