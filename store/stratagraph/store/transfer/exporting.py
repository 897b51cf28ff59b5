"""Reading what an export holds, page by page, under a caller's trust. See docs/export-format.md.

Pages begin after a key, so that each costs the same, and have a bounded number of records and bytes. A page takes a
fixed number of statements, most of them sent together.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from operator import itemgetter
from typing import TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.contents import note_purpose, open_contents
from stratagraph.store.keys.sealing.vault import Sealed
from stratagraph.store.model.enums import Access, MemoryType
from stratagraph.store.model.exported import (
    LINE_ENTRIES,
    LINE_VERSIONS,
    ArtifactLine,
    PredicateLine,
    RecordLine,
    RecordPartLine,
    RelationLine,
    TombstoneLine,
)
from stratagraph.store.postgres.driver import Sending
from stratagraph.store.postgres.queries import Row, fetch, fetch_together, sending
from stratagraph.store.records.reading import knows_all_successors
from stratagraph.store.transfer import exported_rows as made

PAGE_RECORDS = 250
PAGE_BYTES = 2 << 20  # that the contents of a page take in the database, where they are compressed
KEYS = 5_000  # ids that are read at once
SOURCES = 250  # records whose relations are read at once
RELATIONS = 1_000  # of one record that are read at once
TOMBSTONES = 100  # of a page
ARTIFACTS = 500  # of a page
FIRST = UUID(int=0)  # before every id
_OF_RECORDS = ("export_trims", "export_members", "export_lifecycles", "export_references")
_HEAVIEST = 2.0  # above every weight
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A record that is to be exported. `bytes` is what its content and its first earlier versions take."""

    id: UUID
    bytes: int
    has_history: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What of a record's history and audit log is still to be read: what follows these row versions and numbers.

    None: nothing is.
    """

    id: UUID
    type: MemoryType
    after_version: int | None
    after_entry: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lighter:
    """The relations of a record that are still to be read: those lighter than `weight`, or with an id above `after`."""

    source: UUID
    weight: float = _HEAVIEST
    after: UUID = FIRST


def pages(keys: Iterable[Key]) -> Iterable[list[Key]]:
    """Yield the records in pages of at most PAGE_RECORDS, and of PAGE_BYTES unless one record alone has more."""
    page: list[Key] = []
    size = 0
    for key in keys:
        if page and (len(page) == PAGE_RECORDS or size + key.bytes > PAGE_BYTES):
            yield page
            page, size = [], 0
        page.append(key)
        size += key.bytes
    if page:
        yield page


class ExportReader:
    """Reads the lines of an export for one caller, in one snapshot on one connection.

    `types` None means all types. The authors of lessons are shown to callers with admin access.
    """

    def __init__(
        self,
        connection: AsyncConnection,
        directory: Directory,
        caller: Caller,
        types: Collection[MemoryType] | None = None,
    ) -> None:
        self._connection = connection
        self._directory = directory
        self._caller = caller
        self._tenant = caller.tenant.id
        self._filters = {
            **caller.parameters(),
            "all_types": types is None,
            "types": sorted(int(one) for one in types or ()),
        }

    async def predicates(self) -> list[PredicateLine]:
        """Return the registered predicates of facts, by name."""
        rows = await fetch(self._connection, "export_predicates", tenant=self._tenant)
        return sorted((made.predicate_line(row) for row in rows), key=lambda line: line.predicate)

    async def artifacts(self, after: bytes) -> list[ArtifactLine]:
        """Return the next artifacts with hashes above `after`, without contents; none at the end."""
        rows = await fetch(self._connection, "export_artifacts", **self._filters, after=after, most=ARTIFACTS)
        return [ArtifactLine(sha256=bytes(row["sha256"]).hex(), size_bytes=row["size_bytes"]) for row in rows]

    async def keys(self, after: UUID) -> list[Key]:
        """Return the next records above `after`; none at the end."""
        rows = await fetch(
            self._connection, "export_keys", **self._filters, after=after, most=KEYS, versions=LINE_VERSIONS
        )
        return [Key(id=row["id"], bytes=int(row["bytes"]), has_history=row["has_history"]) for row in rows]

    async def records(
        self, page: Sequence[Key], *, meanwhile: Callable[[], object] | None = None
    ) -> list[tuple[RecordLine, Rest | None]]:
        """Return the lines of a page of records, by id, each with what of it is still to be read, if anything.

        `meanwhile` is called while the server works.
        """
        ids = [key.id for key in page]
        asked = {**self._caller.parameters(), "ids": ids}
        found = await fetch_together(
            self._connection,
            sending("export_records", asked),
            self._versions([key.id for key in page if key.has_history], 0),
            self._entries(ids, 0),
            *(sending(name, asked) for name in _OF_RECORDS),
            meanwhile=meanwhile,
        )
        records, versions, entries = await self._opened(found[0]), await self._opened(found[1]), found[2]
        parts = made.Parts(
            versions=_by_id(versions),
            entries=_by_id(await self._rationales(entries)),
            trims=_by_id(found[3]),
            members=_by_id(found[4]),
            lifecycles=_by_id(found[5]),
            references=_by_id(found[6]),
            scopes=await self._directory.scope_names({row["scope"] for row in records}),
            known=await self._known(id_ for row in (*records, *versions) for id_ in made.named_ids(row)),
            shows_authors=self._caller.trust.access is Access.ADMIN,
        )
        lines = [made.record_line(row, parts) for row in sorted(records, key=lambda row: row["id"])]
        return [
            (line, _rest(line.id, line.type, parts.versions.get(line.id, ()), parts.entries.get(line.id, ())))
            for line in lines
        ]

    async def parts(self, rest: Rest | None) -> AsyncIterator[RecordPartLine]:
        """Yield the lines that continue the history and the audit log of a record."""
        while rest is not None:
            versions: list[Row] = []
            entries: list[Row] = []
            if rest.after_version is not None:
                (found,) = await fetch_together(self._connection, self._versions([rest.id], rest.after_version))
                versions = await self._opened(found)
            if rest.after_entry is not None:
                (found,) = await fetch_together(self._connection, self._entries([rest.id], rest.after_entry))
                entries = await self._rationales(found)
            if versions or entries:
                known = await self._known(id_ for row in versions for id_ in made.named_ids(row))
                history = made.past_versions(versions, rest.type, known)
                yield RecordPartLine(id=rest.id, history=history, audit=made.audit_lines(entries))
            rest = _rest(rest.id, rest.type, versions, entries)

    async def sources(self, after: UUID) -> list[UUID]:
        """Return the ids of the next records above `after`, whose relations are to be read; none at the end."""
        rows = await fetch(self._connection, "export_sources", **self._filters, after=after, most=SOURCES)
        return [row["id"] for row in rows]

    async def relations(self, sources: Sequence[UUID]) -> list[tuple[list[RelationLine], Lighter | None]]:
        """Return the heaviest relations of each record that has any, by id, and which are still to be read."""
        found = _grouped(await self._relations(sources, Lighter(source=FIRST)), lambda line: line.source)
        return [(found[source], _lighter(found[source])) for source in sources if source in found]

    async def lighter(self, rest: Lighter | None) -> AsyncIterator[list[RelationLine]]:
        """Yield the further relations of a record, in parts."""
        while rest is not None:
            lines = await self._relations([rest.source], rest)
            yield lines
            rest = _lighter(lines)

    async def tombstones(self, after: UUID) -> list[TombstoneLine]:
        """Return the next tombstones above `after`; none at the end."""
        rows = await fetch(self._connection, "export_tombstones", **self._filters, after=after, most=TOMBSTONES)
        if not rows:
            return []
        asked = {"tenant": self._tenant, "ceiling": int(self._caller.ceiling), "most": LINE_ENTRIES}
        entries = await fetch(self._connection, "export_last_entries", **asked, ids=[row["id"] for row in rows])
        audit = _by_id(reversed(await self._rationales(entries)))
        scopes = await self._directory.scope_names({row["scope"] for row in rows})
        known = await self._known(id_ for row in rows for id_ in (*row["entities"], *row["learned"]))
        return [made.tombstone_line(row, audit.get(row["id"], ()), scopes, known) for row in rows]

    def _versions(self, ids: Sequence[UUID], after: int) -> Sending:
        bounds = {"tenant": self._tenant, "ceiling": int(self._caller.ceiling)}
        return sending("export_versions", {**bounds, "ids": list(ids), "after": after, "most": LINE_VERSIONS})

    def _entries(self, ids: Sequence[UUID], after: int) -> Sending:
        bounds = {"tenant": self._tenant, "ceiling": int(self._caller.ceiling)}
        return sending("export_entries", {**bounds, "ids": list(ids), "after": after, "most": LINE_ENTRIES})

    async def _relations(self, sources: Sequence[UUID], rest: Lighter) -> list[RelationLine]:
        asked = {"ids": list(sources), "weight": rest.weight, "after": rest.after, "most": RELATIONS}
        rows = await fetch(self._connection, "export_relations", **self._filters, **asked)
        names = await self._directory.predicate_names({(self._tenant, row["predicate"]) for row in rows})
        by_number = {number: name for (_, number), name in names.items()}
        return [made.relation_line(row, by_number) for row in rows]

    async def _opened(self, rows: Sequence[Row]) -> list[Row]:
        """Return rows of records or earlier versions with their contents decrypted."""
        opened = await open_contents(self._caller.tenant.keyring, rows)
        return [
            row if content is None else {**row, **made.stored_numbers(content)}
            for row, content in zip(rows, opened, strict=True)
        ]

    async def _rationales(self, rows: Sequence[Row]) -> list[Row]:
        """Return rows of audit entries with their rationales decrypted."""
        blobs = [
            Sealed(id=row["id"], purpose=note_purpose(row["seq"]), blob=bytes(row["sealed"]))
            for row in rows
            if row["sealed"] is not None
        ]
        if not blobs:
            return list(rows)
        texts = iter(await self._caller.tenant.keyring.open(blobs))
        return [row if row["sealed"] is None else {**row, "rationale": next(texts).decode()} for row in rows]

    async def _known(self, ids: Iterable[UUID]) -> frozenset[UUID] | None:
        """Return those of `ids` that lines may name: records and tombstones that the caller may read in full.

        None for a caller who may read everything, for whom nothing is read.
        """
        if knows_all_successors(self._caller):
            return None
        asked = set(ids)
        if not asked:
            return frozenset()
        rows = await fetch(self._connection, "find_exported", **self._caller.parameters(), ids=list(asked))
        return frozenset(row["id"] for row in rows)


def _rest(id_: UUID, memory_type: MemoryType, versions: Sequence[Row], entries: Sequence[Row]) -> Rest | None:
    after_version = versions[-1]["row_version"] if len(versions) == LINE_VERSIONS else None
    after_entry = entries[-1]["seq"] if len(entries) == LINE_ENTRIES else None
    if after_version is None and after_entry is None:
        return None
    return Rest(id=id_, type=memory_type, after_version=after_version, after_entry=after_entry)


def _lighter(lines: Sequence[RelationLine]) -> Lighter | None:
    if len(lines) < RELATIONS:
        return None
    return Lighter(source=lines[-1].source, weight=lines[-1].weight, after=lines[-1].id)


def _grouped(items: Iterable[T], key: Callable[[T], UUID]) -> Mapping[UUID, list[T]]:
    found: dict[UUID, list[T]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def _by_id(rows: Iterable[Row]) -> Mapping[UUID, list[Row]]:
    return _grouped(rows, itemgetter("id"))


async def hold_snapshot(connection: AsyncConnection, idle: timedelta) -> str:
    """Let the transaction wait for `idle` between two statements; return the name of its snapshot for others."""
    (row,) = await fetch(connection, "hold_snapshot", idle=f"{idle.total_seconds():.0f}s")
    return str(row["snapshot"])
