"""What the questions answer."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord, Relation


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredBy:
    """Which engine found an answer, why it was not the preferred one, and how far the mirror is behind."""

    engine: str
    fallback: str | None
    mirror_lag_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A way between two records. `records` are one more than `relations`; `sentence` tells it in one line."""

    records: tuple[MemoryRecord, ...]
    relations: tuple[Relation, ...]
    weight: float
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """The best ways between two records; `reached` names what cut the search: hops, nodes, hubs, paths."""

    paths: tuple[Path, ...]
    reached: tuple[str, ...]
    hubs: tuple[UUID, ...]
    found: AnsweredBy


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactCount:
    hop: int
    type: MemoryType
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedRecord:
    """A record that depends on the one asked about; `via` is what it does so by, itself for the first level."""

    record: MemoryRecord
    hop: int
    strength: float
    via: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What depends on a record: counted per hop and type, and the most important of it."""

    record: MemoryRecord
    counts: tuple[ImpactCount, ...]
    total: int
    affected: tuple[AffectedRecord, ...]
    reached: tuple[str, ...]
    hubs: tuple[UUID, ...]
    found: AnsweredBy


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedStep:
    id: str
    op: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedPlan:
    record: MemoryRecord
    steps: tuple[MatchedStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """Plans that do these things in this order, newest first."""

    plans: tuple[MatchedPlan, ...]
    has_more: bool
    reached: tuple[str, ...]
    found: AnsweredBy


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedEntity:
    """An entity that shares memories with the one asked about, and the strongest of these."""

    record: MemoryRecord
    shared: int
    weight: float
    memories: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Related:
    record: MemoryRecord
    entities: tuple[RelatedEntity, ...]
    has_more: bool
    reached: tuple[str, ...]
    hubs: tuple[UUID, ...]
    found: AnsweredBy


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourRecord:
    """A neighbour with its hints: `degree` counted to 100, `more` of it not in the answer, `hub` from 100 on."""

    record: MemoryRecord
    weight: float
    degree: int
    more: int
    hub: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Expansion:
    """What a front end adds to its drawing. `relations` lead from the record to its neighbours, `between` join these
    with each other and with what was loaded."""

    record: MemoryRecord
    neighbours: tuple[NeighbourRecord, ...]
    relations: tuple[Relation, ...]
    between: tuple[Relation, ...]
    has_more: bool
    found: AnsweredBy
