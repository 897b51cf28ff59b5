"""The context of a request: the caller's trust, the services, and loaders that batch reads per record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import strawberry
from strawberry.dataloader import DataLoader

from stratagraph.graphql.limits.extension import Ticket
from stratagraph.graphql.request_record import RequestRecord
from stratagraph.graphql.services import Services
from stratagraph.memory.records.lookup import RelationPage
from stratagraph.store.learning.extraction import TextReading
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.records import AuditEntry, MemoryRecord, Relation
from stratagraph.store.model.trust import Trust


@dataclass(slots=True)
class Context:
    """The context of one request. Loaders are made per request, so no caller is shown what another one read.

    `record` receives what the access log, metrics and traces show of the request.
    Without a `ticket`, as where no server runs, the operation is not limited. `resume_after` is the position that a
    client of a stream names apart from the document, as the header Last-Event-ID does.
    """

    trust: Trust
    services: Services
    record: RequestRecord = field(default_factory=RequestRecord)
    ticket: Ticket | None = None
    resume_after: str | None = None
    records: DataLoader[UUID, MemoryRecord | None] = field(init=False)
    relations: DataLoader[UUID, list[Relation]] = field(init=False)
    relation_pages: DataLoader[RelationsAsked, RelationPage] = field(init=False)
    audit: DataLoader[UUID, list[AuditEntry]] = field(init=False)
    timelines: DataLoader[EpisodeKey, dict[str, Any] | None] = field(init=False)
    readings: DataLoader[UUID, TextReading | None] = field(init=False)

    def __post_init__(self) -> None:
        self.records = DataLoader(load_fn=self._load_records)
        self.relations = DataLoader(load_fn=self._load_relations)
        self.relation_pages = DataLoader(load_fn=self._load_relation_pages)
        self.audit = DataLoader(load_fn=self._load_audit)
        self.timelines = DataLoader(load_fn=self._load_timelines)
        self.readings = DataLoader(load_fn=self._load_readings)

    def narrowed(self, scopes: Iterable[str] | None, ceiling: Sensitivity | None) -> Context:
        """Return the context under narrower trust, for reading what an answer refers to as narrowly as the answer.

        Raises Forbidden where `scopes` or `ceiling` exceed the credential.
        """
        if scopes is None and ceiling is None:
            return self
        return Context(self.trust.narrowed(scopes=scopes, ceiling=ceiling), self.services, self.record)

    async def _load_records(self, ids: list[UUID]) -> list[MemoryRecord | None]:
        found = await self.services.lookup.named(self.trust, ids)
        return [found.get(id_) for id_ in ids]

    async def _load_relations(self, ids: list[UUID]) -> list[list[Relation]]:
        found = await self.services.lookup.relations(self.trust, ids)
        return [found.get(id_, []) for id_ in ids]

    async def _load_relation_pages(self, asked: list[RelationsAsked]) -> list[RelationPage]:
        found: dict[RelationsAsked, RelationPage] = {}
        for first, after in dict.fromkeys((one.first, one.after) for one in asked):
            ids = [one.id for one in asked if (one.first, one.after) == (first, after)]
            pages = await self.services.lookup.relation_pages(self.trust, ids, first=first, after=after)
            found |= {RelationsAsked(id_, first, after): page for id_, page in pages.items()}
        return [found[one] for one in asked]

    async def _load_audit(self, ids: list[UUID]) -> list[list[AuditEntry]]:
        found = await self.services.lookup.audit(self.trust, ids)
        return [found.get(id_, []) for id_ in ids]

    async def _load_readings(self, ids: list[UUID]) -> list[TextReading | None]:
        found = await self.services.lookup.readings(self.trust, ids)
        return [found.get(id_) for id_ in ids]

    async def _load_timelines(self, episodes: list[EpisodeKey]) -> list[dict[str, Any] | None]:
        found = await self.services.lookup.payloads(self.trust, [episode.record for episode in episodes])
        return [found.get(episode.record.id) for episode in episodes]


@dataclass(frozen=True, slots=True)
class RelationsAsked:
    """The key of a page of a record's relations in `Context.relation_pages`."""

    id: UUID
    first: int
    after: str | None


@dataclass(frozen=True, slots=True)
class EpisodeKey:
    """The key of an episode in `Context.timelines`: records contain dictionaries, so they cannot be hashed."""

    record: MemoryRecord = field(hash=False, compare=False)
    id: UUID


def episode_key(record: MemoryRecord) -> EpisodeKey:
    """Return the key under which `Context.timelines` loads the record's payload."""
    return EpisodeKey(record, record.id)


Info = strawberry.Info[Context, None]
