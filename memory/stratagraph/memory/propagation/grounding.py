"""Grounded support: which records rest, directly or through active records, on a source outside the store.

Records that only support each other in a circle have no ground. A record is grounded if one of its sources is outside
the store, or is an active record that is itself grounded. See docs/specification.md, Revision.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from uuid import UUID

from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.support import Support, fetch_support

_SOURCES_PER_STEP = 4  # read of one record at once; the first source that is read decides most records


@dataclass(slots=True)
class Grounds:
    """The records that one evaluation has read, with their support.

    Read within a transaction that sees all records of the tenant. `limit` bounds the number of sources that are read
    to find a ground; `undecided` has the records for which it did not suffice. They count as grounded.
    """

    connection: Connection
    directory: Directory
    unrestricted: Caller
    at: datetime
    limit: int
    without: Collection[UUID] = ()  # records whose sources count as invalid
    records: dict[UUID, MemoryRecord] = field(default_factory=dict)
    support: dict[UUID, Support] = field(default_factory=dict)
    undecided: set[UUID] = field(default_factory=set)
    _asked: set[UUID] = field(default_factory=set)

    async def read(self, ids: Collection[UUID]) -> set[UUID]:
        """Read those of `ids` that have not been read yet; return those that exist."""
        new = sorted(set(ids) - self._asked)
        if new:
            self._asked.update(new)
            found = await Reader(self.connection, self.directory, self.unrestricted, self.at).records(new)
            self.records |= found
            self.support |= await fetch_support(self.connection, self.unrestricted.tenant, found, without=self.without)
        return {id_ for id_ in ids if id_ in self.records}

    def sources_left(self, id_: UUID, state: Callable[[UUID], RecordState]) -> int:
        """Return the number of the record's sources that are valid, when the records that were read have `state`."""
        return sum(1 for _ in self._valid(id_, state))

    async def grounded(self, ids: Collection[UUID], state: Callable[[UUID], RecordState]) -> set[UUID]:
        """Return those of `ids`, which have been read, that are grounded when the records read have `state`."""
        explored = set(ids)
        while True:
            anchored = self._anchored(explored, state)
            open_ = set(ids) - anchored
            wanted = {
                source
                for id_ in self._above(open_, explored, state) - anchored
                for source in islice(self._unexplored(id_, explored, state), _SOURCES_PER_STEP)
            }
            if not wanted:
                return anchored & set(ids)
            unread = wanted - self._asked
            if self.limit < len(unread):
                self.undecided |= open_
                return set(ids)
            self.limit -= len(unread)
            await self.read(unread)
            explored |= wanted

    def _anchored(self, explored: set[UUID], state: Callable[[UUID], RecordState]) -> set[UUID]:
        """Return the explored records that reach a source outside the store through explored active records.

        Entities need no source.
        """
        supports: dict[UUID, list[UUID]] = {}
        anchored = set()
        for id_ in explored & self.records.keys():
            if self.records[id_].type is MemoryType.ENTITY:  # states nothing that could lose its support
                anchored.add(id_)
            for source in self._valid(id_, state):
                if isinstance(source, UUID) and (source in self.records or source not in self._asked):
                    supports.setdefault(source, []).append(id_)
                else:  # a text, or the id of a record that was pruned or never existed
                    anchored.add(id_)
        frontier = list(anchored)
        while frontier:
            id_ = frontier.pop()
            if state(id_) is not RecordState.ACTIVE:
                continue
            for above in supports.get(id_, ()):
                if above not in anchored:
                    anchored.add(above)
                    frontier.append(above)
        return anchored

    def _above(self, ids: set[UUID], explored: set[UUID], state: Callable[[UUID], RecordState]) -> set[UUID]:
        """Return `ids` and the explored records that they rest on, directly or not."""
        found = set(ids)
        frontier = list(ids)
        while frontier:
            for source in self._valid(frontier.pop(), state):
                if isinstance(source, UUID) and source in self.records and source in explored and source not in found:
                    found.add(source)
                    frontier.append(source)
        return found

    def _unexplored(self, id_: UUID, explored: set[UUID], state: Callable[[UUID], RecordState]) -> list[UUID]:
        sources = (source for source in self._valid(id_, state) if isinstance(source, UUID))
        return sorted(source for source in sources if source not in explored)

    def _valid(self, id_: UUID, state: Callable[[UUID], RecordState]) -> Iterator[UUID | str]:
        """Return the valid sources of a record: those outside the store, and active records."""
        support = self.support[id_]
        for source in support.sources:
            if isinstance(source, UUID) and source in self.records and source not in self.without:
                if state(source) is RecordState.ACTIVE:
                    yield source
            elif source not in support.invalid:
                yield source
