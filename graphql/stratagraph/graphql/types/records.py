"""Records."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

import strawberry

from stratagraph.graphql.arguments import After
from stratagraph.graphql.context import Context, Info, RelationsAsked, episode_key
from stratagraph.graphql.past import AsOf, PastEpisode, PastRelationsAsked
from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.enums import MemoryType, RecordState, Sensitivity
from stratagraph.graphql.types.lifecycle import Lifecycle
from stratagraph.graphql.types.provenance import AuditEntry, Provenance
from stratagraph.graphql.types.relations import Relation, RelationConnection
from stratagraph.graphql.types.typed_payloads import TypedPayload, typed_payload
from stratagraph.memory.records.cursors import MAX_PAGE
from stratagraph.memory.records.lookup import MAX_RELATIONS
from stratagraph.memory.retrieve import times
from stratagraph.store.learning.extraction import ReadingState
from stratagraph.store.model import records as domain
from stratagraph.store.records.episode_timelines import is_thread_episode
from stratagraph.store.records.past import Moment

DEFAULT_RELATIONS = 50


@strawberry.type(description="A time that a task names, which raises the records of it, or that a text names.")
class NamedTime:
    words: str = strawberry.field(description="The words that name it, such as `last week`.")
    start: datetime | None = strawberry.field(description="Its first instant; null for all times before `end`.")
    end: datetime = strawberry.field(description="The instant before which it ends.")

    @classmethod
    def of(cls, time: times.NamedTime) -> Self:
        return cls(words=time.words, start=time.start if time.start > times.EARLIEST else None, end=time.end)


@strawberry.type(description="How far a language model has come with reading the text of a record.")
class TextReading:
    state: ReadingState = strawberry.field(description="Whether the text was read.")
    attempts: int = strawberry.field(
        description="Number of attempts at the text, or at the present part of a long one, with the one that succeeded;"
        " from 0."
    )
    next_try_at: datetime | None = strawberry.field(
        description="Instant in UTC at which the next attempt may begin; null once the text was read. It may be past"
        " where texts of the tenant are read only with the next run of consolidation, because of its limits."
    )

    @classmethod
    async def load(cls, context: Context, record: UUID) -> Self | None:
        """Return how far the reading of a record has come, as far as the caller may read the record in full."""
        found = await context.readings.load(record)
        if found is None:
            return None
        next_try_at = None if found.state is ReadingState.DONE else found.next_try_at
        return cls(state=found.state, attempts=found.attempts, next_try_at=next_try_at)


@strawberry.type(
    description="One memory. A redacted record has only its id, type, sensitivity, confidence, salience, scope, tags"
    " and times; every other field is null or a placeholder."
)
class MemoryRecord:
    record: strawberry.Private[domain.MemoryRecord]
    as_of: strawberry.Private[AsOf | None]
    context: strawberry.Private[Context | None]
    id: strawberry.ID = strawberry.field(description="Id of the record, a UUID; never used again for another record.")
    type: MemoryType = strawberry.field(description="Which question the record answers.")
    sensitivity: Sensitivity = strawberry.field(description="Level a caller's ceiling must reach to read the record.")
    confidence: float = strawberry.field(description="How certain the record is, from 0 to 1.")
    salience: float = strawberry.field(
        description="How much the record matters at the instant it is shown as of, from 0 to 1; computed at each read."
    )
    state: RecordState = strawberry.field(
        description="Whether the record is part of the current truth; ACTIVE as a placeholder when redacted."
    )
    scope: str = strawberry.field(description="The project, user or other scope of the record; empty for unscoped.")
    tags: list[str] = strawberry.field(description="Labels given at capture.")
    created_at: datetime = strawberry.field(description="Instant in UTC at which the record was stored.")
    occurred_at: datetime | None = strawberry.field(description="Instant in UTC at which the content happened.")
    updated_at: datetime = strawberry.field(description="Instant in UTC of the last change to the record.")
    version: int = strawberry.field(
        description="Number of the version, from 1; give it as `expectedVersion` when revising. 0 when redacted."
    )
    redacted: bool = strawberry.field(
        description="Whether content is withheld because the record is one sensitivity level above the caller's"
        " ceiling."
    )
    name: str | None = strawberry.field(description="Short caption of one line; also the node's caption in the mirror.")
    text: str | None = strawberry.field(description="The content as readable text.")
    lifecycle: Lifecycle | None = strawberry.field(description="How the salience decays; null when redacted.")
    provenance: Provenance | None = strawberry.field(description="Sources of the record; null when redacted.")
    interpretation: JSON | None = strawberry.field(
        description="Entities, references and labels found in the content; null when redacted."
    )
    valid_from: datetime | None = strawberry.field(
        description="Instant in UTC from which a fact holds, as far as other facts leave it; null when it is unbounded,"
        " when redacted, and for other types."
    )
    valid_to: datetime | None = strawberry.field(
        description="Instant in UTC before which a fact holds, as far as other facts leave it; null when it is"
        " unbounded, when redacted, and for other types."
    )
    conditions: JSON | None = strawberry.field(
        description="Conditions under which a fact holds, as a JSON object; null where there are none, when redacted,"
        " and for other types."
    )

    @strawberry.field(
        description="Times that the text of an event names, as its sender meant them when it said so, such as `last"
        " Friday`; empty where it names none and for other records, null when redacted."
    )
    def named_times(self) -> list[NamedTime] | None:
        if self.redacted:
            return None
        return [
            NamedTime(
                words=one["words"], start=datetime.fromisoformat(one["start"]), end=datetime.fromisoformat(one["end"])
            )
            for one in (self.record.interpretation or {}).get("named_times", ())
        ]

    @strawberry.field(
        description="How far a language model has come with reading the text; null where none is to read it, when"
        " redacted, and for a past record."
    )
    async def text_reading(self, info: Info) -> TextReading | None:
        if self.redacted or self.as_of is not None:
            return None
        return await TextReading.load(self.context or info.context, self.record.id)

    @strawberry.field(
        description="Content in the canonical snake_case form of the record's type; null when redacted. The payload"
        " of an episode holds its timeline. Its JSON Schema is at /schemas/NAME.json, such as /schemas/semantic.json."
    )
    async def payload(self, info: Info) -> JSON | None:
        return await self._payload(info)  # type: ignore[return-value]  # JSON is any value

    @strawberry.field(
        description="The payload as an object of the record's type, without further keys; null when redacted, and where"
        " a stored payload lacks what its type needs. A stored value of another type is null."
    )
    async def typed(self, info: Info) -> TypedPayload | None:
        return typed_payload(self.type, await self._payload(info))

    @strawberry.field(
        description=f"Relations of the record in both directions, heaviest first, at most {MAX_RELATIONS}; for a past"
        " record, those it had at that instant. Null when redacted."
    )
    async def relations(self, info: Info) -> list[Relation] | None:
        if self.redacted:
            return None
        if self.as_of is None:
            relations = await (self.context or info.context).relations.load(self.record.id)
        else:
            relations = await self.as_of.loaders.relations.load(Moment(self.record.id, self.as_of.at))
        return [Relation.of(relation, self.as_of, self.context) for relation in relations]

    @strawberry.field(
        description="A page of the relations of the record in both directions, heaviest first, however many it has; for"
        " a past record, of those it had at that instant. Null when redacted."
    )
    async def relation_page(
        self,
        info: Info,
        first: Annotated[
            int | None,
            strawberry.argument(
                description=f"Maximum number of relations to return, from 1 to {MAX_PAGE}; the default is"
                f" {DEFAULT_RELATIONS}."
            ),
        ] = DEFAULT_RELATIONS,
        after: After = None,
    ) -> RelationConnection | None:
        if self.redacted:
            return None
        context, first = self.context or info.context, DEFAULT_RELATIONS if first is None else first
        if self.as_of is None:
            page = await context.relation_pages.load(RelationsAsked(self.record.id, first, after))
        else:
            asked = PastRelationsAsked(Moment(self.record.id, self.as_of.at), first, after)
            page = await self.as_of.loaders.relation_pages.load(asked)
        return RelationConnection.of(page, self.as_of, self.context)

    @strawberry.field(
        description="Changes to the record, oldest first; for a past record, those up to that instant. Null when"
        " redacted."
    )
    async def audit_log(self, info: Info) -> list[AuditEntry] | None:
        if self.redacted:
            return None
        return [
            AuditEntry.of(entry)
            for entry in await (self.context or info.context).audit.load(self.record.id)
            if self.as_of is None or entry.timestamp <= self.as_of.at
        ]

    async def _payload(self, info: Info) -> dict[str, Any] | None:
        payload = self.record.payload
        if is_thread_episode(self.record):
            payload = await self._timeline(self.context or info.context) or payload
        return payload

    async def _timeline(self, context: Context) -> dict[str, Any] | None:
        if self.as_of is None:
            return await context.timelines.load(episode_key(self.record))
        key = PastEpisode(self.record, Moment(self.record.id, self.as_of.at))
        return await self.as_of.loaders.timelines.load(key)

    @classmethod
    def of(cls, record: domain.MemoryRecord, as_of: AsOf | None = None, context: Context | None = None) -> Self:
        """Build the GraphQL record.

        Its relations, audit log and timeline are read as of `as_of` where that is given, and under the trust of
        `context` where that is given.
        """
        return cls(
            record=record,
            as_of=as_of,
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
            lifecycle=Lifecycle.of(record.lifecycle) if record.lifecycle is not None else None,
            provenance=Provenance.of(record.provenance, as_of, context) if record.provenance is not None else None,
            interpretation=record.interpretation,  # type: ignore[arg-type]  # JSON is any value
            valid_from=record.valid_from,
            valid_to=record.valid_to,
            conditions=record.conditions,  # type: ignore[arg-type]  # JSON is any value
        )
