"""Loaders for answers about the past: relations and timelines as of an instant, batched per answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from strawberry.dataloader import DataLoader

from stratagraph.graphql.context import Context
from stratagraph.memory.records.lookup import RelationPage
from stratagraph.store.model import records as domain
from stratagraph.store.records.past import Moment


class PastLoaders:
    """Batched reads of what belongs to the records of one answer, each record as of its own instant."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.records: DataLoader[Moment, domain.MemoryRecord | None] = DataLoader(load_fn=self._load_records)
        self.relations: DataLoader[Moment, list[domain.Relation]] = DataLoader(load_fn=self._load_relations)
        self.relation_pages: DataLoader[PastRelationsAsked, RelationPage] = DataLoader(load_fn=self._load_pages)
        self.timelines: DataLoader[PastEpisode, dict[str, Any] | None] = DataLoader(load_fn=self._load_timelines)

    async def _load_records(self, moments: list[Moment]) -> list[domain.MemoryRecord | None]:
        found = await self._context.services.lookup.named_then(self._context.trust, moments)
        return [found.get(moment) for moment in moments]

    async def _load_relations(self, moments: list[Moment]) -> list[list[domain.Relation]]:
        found = await self._context.services.lookup.past_relations(self._context.trust, moments)
        return [found.get(moment, []) for moment in moments]

    async def _load_pages(self, asked: list[PastRelationsAsked]) -> list[RelationPage]:
        found: dict[PastRelationsAsked, RelationPage] = {}
        lookup, trust = self._context.services.lookup, self._context.trust
        for first, after in dict.fromkeys((one.first, one.after) for one in asked):
            moments = [one.moment for one in asked if (one.first, one.after) == (first, after)]
            pages = await lookup.past_relation_pages(trust, moments, first=first, after=after)
            found |= {PastRelationsAsked(moment, first, after): page for moment, page in pages.items()}
        return [found[one] for one in asked]

    async def _load_timelines(self, episodes: list[PastEpisode]) -> list[dict[str, Any] | None]:
        requested = [(episode.record, episode.moment.at) for episode in episodes]
        found = await self._context.services.lookup.past_payloads(self._context.trust, requested)
        return [found.get(episode.moment) for episode in episodes]


@dataclass(frozen=True, slots=True)
class PastRelationsAsked:
    """The key of a page of the relations that a record had in `PastLoaders.relation_pages`."""

    moment: Moment
    first: int
    after: str | None


@dataclass(frozen=True, slots=True)
class PastEpisode:
    """The key of an episode in `PastLoaders.timelines`: records contain dictionaries, so they cannot be hashed."""

    record: domain.MemoryRecord = field(hash=False, compare=False)
    moment: Moment


@dataclass(frozen=True, slots=True)
class AsOf:
    """The past instant that a record is shown as of, and the loaders of the relations and timeline it had then."""

    at: datetime
    loaders: PastLoaders


def shown_as_of(context: Context, as_of: datetime | None) -> AsOf | None:
    """Return what the records of an answer are shown as of; None for the present."""
    return AsOf(as_of, PastLoaders(context)) if as_of is not None else None
