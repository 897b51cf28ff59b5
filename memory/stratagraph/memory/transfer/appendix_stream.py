"""An export in the form of the RFC's appendix: one record a line, with its relations and its audit log.

A relation is in the line of the record that it starts at. There are no other
lines, and so nothing that tells the end: whoever reads it must know that the stream was whole.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TypeVar
from uuid import UUID

import orjson

from stratagraph.memory.transfer.chunks import Chunk
from stratagraph.memory.transfer.plain_records import plain_entries, plain_records, plain_relations
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import AuditLine, RelationLine
from stratagraph.store.model.records import AuditEntry, MemoryRecord, Relation
from stratagraph.store.model.rfc import to_appendix
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.reading import Reader
from stratagraph.store.transfer.exporting import FIRST, KEYS, PAGE_RECORDS, ExportReader, Key, pages

_FORMAT = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
_MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, InvalidInput)  # raised by content
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRecord:
    """A record as a reader gets it, with the live relations that start at it, heaviest first, and its audit log."""

    record: MemoryRecord
    relations: list[Relation]
    audit: list[AuditEntry]


class WholeRecords:
    """Reads records with all that belongs to them, for the forms of export that have one document a record.

    One whose stored content is malformed is left out, and its id noted in `left_out`.
    """

    def __init__(
        self,
        connection: Connection,
        directory: Directory,
        caller: Caller,
        reader: ExportReader,
        *,
        now: datetime,
        left_out: list[UUID],
    ) -> None:
        self._connection = connection
        self._caller = caller
        self._reader = reader
        self._now = now
        self.left_out = left_out
        self._plain = Reader(connection, directory, caller, now)

    async def pages(self) -> AsyncIterator[list[WholeRecord]]:
        """Yield the records, by id."""
        last = FIRST
        while keys := await self._reader.keys(last):
            for page in pages(keys):
                yield await self._readable(page)
            last = keys[-1].id
            if len(keys) < KEYS:
                break

    async def names(self, ids: Collection[UUID]) -> dict[UUID, str | None]:
        """Return the names of those of the records that the caller may read in full."""
        found: dict[UUID, str | None] = {}
        for some in _batches(ids):
            records = await self._plain.records(some)
            found |= {id_: record.name for id_, record in records.items() if not record.redacted}
        return found

    def made(self, record: WholeRecord, make: Callable[[WholeRecord], T]) -> T | None:
        """Return what `make` makes of a record; None if that fails because its content is malformed."""
        try:
            return make(record)
        except _MALFORMED:
            self.left_out.append(record.record.id)
            return None

    async def _readable(self, page: list[Key]) -> list[WholeRecord]:
        """Return the records of a page that can be read. A page with a malformed one is halved until it is alone."""
        try:
            return await self._page(page)
        except _MALFORMED:
            if len(page) == 1:
                self.left_out.append(page[0].id)
                return []
            half = len(page) // 2
            return [*await self._readable(page[:half]), *await self._readable(page[half:])]

    async def _page(self, page: list[Key]) -> list[WholeRecord]:
        lines, audit = [], dict[UUID, list[AuditLine]]()
        for line, rest in await self._reader.records(page):
            lines.append(line)
            audit[line.id] = list(line.audit)
            async for part in self._reader.parts(rest):
                audit[line.id] += part.audit
        relations = dict[UUID, list[RelationLine]]()
        for found, lighter in await self._reader.relations([key.id for key in page]):
            own = relations[found[0].source] = list(found)
            async for more in self._reader.lighter(lighter):
                own += more
        return [
            WholeRecord(
                record=record,
                relations=plain_relations(relations.get(record.id, ())),
                audit=plain_entries(audit[record.id]),
            )
            for record in await plain_records(self._connection, self._caller, lines, now=self._now)
        ]


async def appendix_chunks(records: WholeRecords) -> AsyncGenerator[Chunk]:
    """Yield the lines of an export in the form of the RFC's appendix."""
    async for page in records.pages():
        lines = [line for one in page if (line := records.made(one, _line)) is not None]
        yield Chunk(b"".join(lines), len(lines), None)


def _line(one: WholeRecord) -> bytes:
    return orjson.dumps(to_appendix(one.record, one.relations, one.audit), option=_FORMAT)


def _batches(ids: Collection[UUID]) -> Iterator[list[UUID]]:
    left = iter(ids)
    while some := list(islice(left, PAGE_RECORDS)):
        yield some
