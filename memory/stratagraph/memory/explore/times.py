"""The times of a graph question: as of which instant it is answered, and at which its facts must have held.

Postgres alone answers for another time than now; the mirror shows only the present.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from stratagraph.memory.engines.service import AnsweredBy
from stratagraph.memory.explore.session import QuerySession
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.records.past import Past, PastReader
from stratagraph.store.records.reading import Reader
from stratagraph.store.traversal.past_links import TimedExplorer

_CURRENT = (RecordState.ACTIVE, RecordState.CONTESTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """`as_of` is what was known then, None for now; `valid_at` is what held then, None for that instant."""

    as_of: datetime | None = None
    valid_at: datetime | None = None


NOW = Time()


def past_session(reader: Reader, by: AnsweredBy, as_of: datetime, valid_at: datetime) -> QuerySession:
    """Return the session of a question as of a past instant, of the facts that held at `valid_at`."""
    engine = TimedExplorer(reader.connection, at=as_of, valid_at=valid_at, is_past=True)
    past = PastReader(Past(reader.connection, reader.directory, reader.caller), as_of, valid_at)
    return PastSession(engine, reader.caller, reader, by, as_of, timed=engine, past=past)


def held_session(reader: Reader, by: AnsweredBy, valid_at: datetime) -> QuerySession:
    """Return the session of a question of the present, of the facts that held at `valid_at`."""
    engine = TimedExplorer(reader.connection, at=reader.now, valid_at=valid_at, is_past=False)
    return HeldSession(engine, reader.caller, reader, by, timed=engine, valid_at=valid_at)


@dataclass(slots=True, kw_only=True)
class _TimedSession(QuerySession):
    timed: TimedExplorer

    async def degrees(self, ids: Collection[UUID]) -> dict[UUID, int]:
        return await self.timed.degrees(self.caller, ids)

    async def between(self, ids: Collection[UUID], others: Collection[UUID], *, most: int) -> list[Relation]:
        current = await self.current([*ids, *others])
        found = await self.timed.between(self.caller, [id_ for id_ in ids if id_ in current], current, most=most)
        relations = await self.relations(found)
        return [relations[id_] for id_ in found if id_ in relations]


@dataclass(slots=True, kw_only=True)
class PastSession(_TimedSession):
    """A session as of a past instant. Records and relations are those that the caller may read in full then and now."""

    past: PastReader

    async def in_full(self, ids: Sequence[UUID]) -> dict[UUID, MemoryRecord]:
        return await self.past.records(ids)

    async def read_heads(self, ids: Sequence[UUID]) -> dict[UUID, MemoryRecord]:
        return await self.past.heads(ids)

    async def only_current(self, heads: dict[UUID, MemoryRecord]) -> dict[UUID, MemoryRecord]:
        return heads

    async def read_relations(self, ids: Sequence[UUID]) -> Sequence[Relation]:
        return await self.past.relations(ids)

    async def shown(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        return await self.past.records(ids, current=True)


@dataclass(slots=True, kw_only=True)
class HeldSession(_TimedSession):
    """A session of the present in which facts held at another instant; these may be superseded."""

    valid_at: datetime
    _held: dict[UUID, bool] = field(default_factory=dict)

    async def only_current(self, heads: dict[UUID, MemoryRecord]) -> dict[UUID, MemoryRecord]:
        unknown = [id_ for id_ in heads if id_ not in self._held]
        if unknown:
            held = await self.reader.held_at(unknown, self.valid_at)
            self._held.update((id_, id_ in held) for id_ in unknown)
        return {
            id_: head
            for id_, head in heads.items()
            if self._held[id_] and (head.type is MemoryType.SEMANTIC or head.state in _CURRENT)
        }

    async def shown(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]:
        found = await self.reader.records(ids)
        full = {id_: record for id_, record in found.items() if not record.redacted}
        return await self.only_current(full)
