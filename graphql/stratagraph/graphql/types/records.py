"""Records, relations and what belongs to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

import strawberry
from strawberry.dataloader import DataLoader

from stratagraph.graphql.context import Context, Info, episode_key
from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import Curve, DeletionPolicy, MemoryType, RecordState, Sensitivity
from stratagraph.store.model import records as domain
from stratagraph.store.model.predicates import inverse
from stratagraph.store.records.episodes import is_thread_episode
from stratagraph.store.records.past import Moment


@strawberry.type(description="A directed edge between two records, stored once and readable from both ends.")
class Relation:
    id: strawberry.ID
    predicate: str = strawberry.field(description="Read from source to target.")
    inverse: str = strawberry.field(description="The same relation read from target to source.")
    source_id: strawberry.ID
    target_id: strawberry.ID
    weight: float = strawberry.field(description="In [0, 1]; expansion follows the heaviest first.")
    created_at: datetime

    @classmethod
    def of(cls, relation: domain.Relation) -> Self:
        return cls(
            id=strawberry.ID(str(relation.id)),
            predicate=relation.predicate,
            inverse=inverse(relation.predicate),
            source_id=strawberry.ID(str(relation.source)),
            target_id=strawberry.ID(str(relation.target)),
            weight=relation.weight,
            created_at=relation.created_at,
        )


@strawberry.type(description="How salience falls with time.")
class Decay:
    curve: Curve
    half_life_seconds: float
    min_salience: float
    max_age_seconds: float | None
    reinforcement_gain: float


@strawberry.type(description="How a record fades and how it may go.")
class Lifecycle:
    decay: Decay
    last_reinforced_at: datetime | None
    pinned: bool
    deletion_policy: DeletionPolicy


@strawberry.type(description="What a record rests on.")
class Source:
    kind: str
    ref: str
    hash: str | None
    created_by: str | None
    timestamp: datetime | None


@strawberry.type(description="Where a record comes from.")
class Provenance:
    sources: list[Source]
    created_by: str | None


@strawberry.type(description="One thing that was done to a record.")
class AuditEntry:
    action: str
    actor: str
    timestamp: datetime
    rationale: str | None


class PastLoaders:
    """What belongs to the records of one answer about the past, each as of its own instant, read for all at once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.relations: DataLoader[Moment, list[domain.Relation]] = DataLoader(load_fn=self._load_relations)
        self.timelines: DataLoader[_Episode, dict[str, Any] | None] = DataLoader(load_fn=self._load_timelines)

    async def _load_relations(self, moments: list[Moment]) -> list[list[domain.Relation]]:
        found = await self._context.services.lookup.past_relations(self._context.trust, moments)
        return [found.get(moment, []) for moment in moments]

    async def _load_timelines(self, episodes: list[_Episode]) -> list[dict[str, Any] | None]:
        asked = [(episode.record, episode.moment.at) for episode in episodes]
        found = await self._context.services.lookup.past_payloads(self._context.trust, asked)
        return [found.get(episode.moment) for episode in episodes]


@dataclass(frozen=True, slots=True)
class _Episode:
    """A record of the past as a loader's key: records hold dictionaries and cannot be hashed themselves."""

    record: domain.MemoryRecord = field(hash=False, compare=False)
    moment: Moment


@dataclass(frozen=True, slots=True)
class Then:
    """The instant a record is shown as of."""

    at: datetime
    loaders: PastLoaders


@strawberry.type(description="One memory. A redacted one shows its head only: all else is null.")
class MemoryRecord:
    record: strawberry.Private[domain.MemoryRecord]
    then: strawberry.Private[Then | None]
    context: strawberry.Private[Context | None]
    id: strawberry.ID
    type: MemoryType
    sensitivity: Sensitivity
    confidence: float
    salience: float = strawberry.field(
        description="Its value now, or at the instant asked for, in [0, 1]: a function of time."
    )
    state: RecordState
    scope: str = strawberry.field(description="Empty: unscoped.")
    tags: list[str]
    created_at: datetime
    occurred_at: datetime | None
    updated_at: datetime
    version: int = strawberry.field(description="Give it as expectedVersion when revising.")
    redacted: bool = strawberry.field(description="One level above the caller: only the head is real.")
    name: str | None = strawberry.field(description="The short caption, also used in the mirror.")
    text: str | None = strawberry.field(description="One readable paragraph.")
    lifecycle: Lifecycle | None
    provenance: Provenance | None
    interpretation: JSON | None = strawberry.field(description="What was found named and referred to in it.")

    @strawberry.field(description="The payload in the canonical snake_case form of its type; null when redacted.")
    async def payload(self, info: Info) -> JSON | None:
        payload: Any = self.record.payload
        if is_thread_episode(self.record):
            payload = await self._timeline(self.context or info.context) or payload
        return payload  # type: ignore[no-any-return]  # JSON is any value

    @strawberry.field(
        description="Its relations in both directions, heaviest first, at most 100; of a past record, those of then."
    )
    async def relations(self, info: Info) -> list[Relation] | None:
        if self.redacted:
            return None
        if self.then is None:
            relations = await (self.context or info.context).relations.load(self.record.id)
        else:
            relations = await self.then.loaders.relations.load(Moment(self.record.id, self.then.at))
        return [Relation.of(relation) for relation in relations]

    @strawberry.field(description="All that was done to it, oldest first; of a past record, until then.")
    async def audit_log(self, info: Info) -> list[AuditEntry] | None:
        if self.redacted:
            return None
        return [
            AuditEntry(action=entry.action, actor=entry.actor, timestamp=entry.timestamp, rationale=entry.rationale)
            for entry in await (self.context or info.context).audit.load(self.record.id)
            if self.then is None or entry.timestamp <= self.then.at
        ]

    async def _timeline(self, context: Context) -> dict[str, Any] | None:
        if self.then is None:
            return await context.timelines.load(episode_key(self.record))
        key = _Episode(self.record, Moment(self.record.id, self.then.at))
        return await self.then.loaders.timelines.load(key)

    @classmethod
    def of(cls, record: domain.MemoryRecord, then: Then | None = None, context: Context | None = None) -> Self:
        """All that belongs to the record is read as of `then`, if given, and under the trust of `context`, if given."""
        return cls(
            record=record,
            then=then,
            context=context,
            id=strawberry.ID(str(record.id)),
            type=record.type,
            sensitivity=record.sensitivity,
            confidence=record.confidence,
            salience=record.salience,
            state=record.state,
            scope=record.scope,
            tags=list(record.tags),
            created_at=record.created_at,
            occurred_at=record.occurred_at,
            updated_at=record.updated_at,
            version=record.version,
            redacted=record.redacted,
            name=record.name,
            text=record.text,
            lifecycle=_lifecycle(record),
            provenance=_provenance(record.provenance),
            interpretation=record.interpretation,  # type: ignore[arg-type]  # JSON is any value
        )


def _lifecycle(record: domain.MemoryRecord) -> Lifecycle | None:
    kept = record.lifecycle
    if kept is None:
        return None
    return Lifecycle(
        decay=Decay(
            curve=kept.decay.curve,
            half_life_seconds=kept.decay.half_life_s,
            min_salience=kept.decay.min_salience,
            max_age_seconds=kept.decay.max_age_s,
            reinforcement_gain=kept.decay.reinforcement_gain,
        ),
        last_reinforced_at=kept.last_reinforced_at,
        pinned=kept.pinned,
        deletion_policy=kept.deletion_policy,
    )


def _provenance(stored: dict[str, Any] | None) -> Provenance | None:
    if stored is None:
        return None
    return Provenance(
        sources=[
            Source(
                kind=source["kind"],
                ref=source["ref"],
                hash=source.get("hash"),
                created_by=source.get("created_by"),
                timestamp=datetime.fromisoformat(source["timestamp"]) if source.get("timestamp") else None,
            )
            for source in stored.get("sources", ())
        ],
        created_by=stored.get("created_by"),
    )


@strawberry.type(description="Where a page ends.")
class PageInfo:
    has_next_page: bool
    end_cursor: str | None = strawberry.field(description="Give it as `after` for the next page.")


@strawberry.type(description="A page of records, newest first.")
class RecordConnection:
    nodes: list[MemoryRecord]
    page_info: PageInfo


@strawberry.input(description="Which records to list; what is left out does not restrict.")
class RecordFilter:
    types: list[MemoryType] | None = None
    scope: str | None = None
    tag: str | None = None
