"""Import of the memories of other systems from files and folders.

A memory is recognised by its id in its system. One that was changed there since it was imported takes the place of what
it was; one that was deleted there stays.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from uuid import UUID

from stratagraph.memory.capture.request import CaptureRequest, ImportedItem, Retention
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.lines import printable
from stratagraph.memory.imports.memories.documents import FileRows, JoinedRows, Notes, find_sources
from stratagraph.memory.imports.memories.form import Happening, Named, RefusedMemory, Remembered, Statement
from stratagraph.memory.imports.memories.format import Found
from stratagraph.memory.imports.memories.known import FORMATS, NOTES, format_of
from stratagraph.memory.imports.memories.mem0_statements import named_owner
from stratagraph.memory.imports.memories.notes import SYSTEM as NOTES_SYSTEM
from stratagraph.memory.imports.memories.notes import read_notes
from stratagraph.memory.imports.memories.owners import (
    OWNERS,
    completed,
    earlier_ids,
    learns,
    owned,
    owners_in,
    restated,
)
from stratagraph.memory.imports.memories.record_file import write_records
from stratagraph.memory.imports.memories.requests import MemorySource, changed_at, fingerprint, said_by, said_in
from stratagraph.memory.imports.memories.summary import MemorySummary
from stratagraph.memory.imports.progress import IMPORT_RETENTION, Advance, Refused
from stratagraph.memory.imports.storing import Change, Item, store_items
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.transfer.restoring import RecordImport
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads.semantic import NOTE
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust

BATCH = 200  # memories in one transaction
BOUNDED = 40  # facts with a validity about one subject in one transaction; each is compared with those before it
_CURRENT = (RecordState.ACTIVE, RecordState.CONTESTED)
MAX_ATTACHMENTS = 64  # of one memory
_CHUNK = 1 << 20  # bytes of an attachment read at once
OLDER = "memories that are older than what is known of them"
ATTEMPTS = 5  # to store memories that other imports store at the same time


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryImport:
    """What the user asks for: the files, the format where it is named, and how the memories are stored.

    `zone` is that of times without an offset; None refuses them. With `dry_run`, each transaction is rolled back.
    """

    paths: tuple[Path, ...]
    named: str | None = None
    scope: str | None = None
    zone: tzinfo | None = None
    retention: Retention = IMPORT_RETENTION
    restore_erased: bool = False
    dry_run: bool = False


async def import_memories(
    capture: Capture,
    records: RecordImport,
    artifacts: Artifacts,
    trust: Trust,
    wanted: MemoryImport,
    *,
    advance: Advance = lambda _: None,
) -> MemorySummary:
    """Capture the memories of all files, BATCH per transaction. Records of Membrane are restored by `records`, and
    attachments stored by `artifacts`.

    A part that is malformed is listed in the summary, and so is a file that has no known format; all others are stored.
    May be stopped at any time and run again; memories that are stored are not stored twice. Raises InvalidInput for a
    path that does not exist.
    """
    files = find_sources(wanted.paths)
    summary = MemorySummary(source=", ".join(printable(path.name) for path in wanted.paths), dry_run=wanted.dry_run)
    run = _Run(capture, records, artifacts, trust, wanted, summary, advance)
    for file in files:
        await run.add_file(file)
    await run.add_together()
    return summary


@dataclass(slots=True, kw_only=True)
class _Read:
    """A memory that was read, and what is stored of it.

    `record` is what its latest version became, None if none is stored; `is_same` is whether that says the same.
    `version` is the number of the next one. `known` is the record, where the memory differs from it; `learns` is
    whether it differs in a bound that is only guessed there.
    """

    name: str
    memory: Remembered
    source: MemorySource
    version: int = 0
    record: UUID | None = None
    is_same: bool = False
    known: MemoryRecord | None = None
    learns: bool = False


@dataclass(slots=True)
class _Run:
    """One run of an import. `pending` are the memories of the next batch."""

    capture: Capture
    records: RecordImport
    artifacts: Artifacts
    trust: Trust
    wanted: MemoryImport
    summary: MemorySummary
    advance: Advance
    pending: list[_Read] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    bounded: Counter[tuple[str, str]] = field(default_factory=Counter)
    together: dict[str, list[Path]] = field(default_factory=dict)
    previewed: dict[str, tuple[str, datetime | None]] = field(default_factory=dict)

    async def add_file(self, file: Path | Notes) -> None:
        """Store the memories of a file or of a folder of notes."""
        name = printable(file.name)
        try:
            if isinstance(file, Notes):
                if self.wanted.named not in (None, NOTES):
                    raise InvalidInput(f"are Markdown notes, not of the format {self.wanted.named}")
                self.summary.count_format("Markdown notes")
                await self._capture(name, NOTES_SYSTEM, partial(read_notes, file))
                return
            rows = FileRows(file)
            format_ = format_of(rows.beginning(), self.wanted.named)
            self.summary.count_format(format_.name)
            if format_.read is None:
                await self._restore(name, rows)
            elif format_.together:
                self.together.setdefault(format_.key, []).append(file)
            else:
                await self._capture(name, format_.system, partial(format_.read, rows))
        except InvalidInput as error:
            self.summary.refused.append(Refused(name, error.message.removeprefix("file: ")))

    async def add_together(self) -> None:
        """Store the memories of the files that are read as one, by format."""
        for format_, files in ((one, self.together.get(one.key)) for one in FORMATS):
            if files and format_.read is not None:
                rest = f" and {len(files) - 1} more" if len(files) > 1 else ""
                read = partial(format_.read, JoinedRows(files))
                await self._capture(f"{printable(files[0].name)}{rest}", format_.system, read, is_placed=True)

    async def _capture(
        self, name: str, system: str, read: Callable[[Reading], Iterable[Found]], *, is_placed: bool = False
    ) -> None:
        """Store the memories of a file, and count what is left out of it.

        With `is_placed`, the places of memories begin with the names of their files.
        """
        within = "" if is_placed else name
        reading = Reading(zone=self.wanted.zone)
        source = MemorySource(system=system, file=name, scope=self.wanted.scope, retention=self.wanted.retention)
        try:
            for number, one in enumerate(read(reading), 1):
                self.summary.items += 1
                if isinstance(one, RefusedMemory):
                    self.summary.refused.append(Refused(f"{within} {one.place}".strip(), one.reason))
                    self.advance(1)
                else:
                    item = f"{within} {one.place or number}".strip()
                    await self._add(_Read(name=item, memory=one, source=source))
        finally:
            await self._store()
            for reason, times in reading.skipped.items():
                self.summary.skip(reason, times)
            self.summary.count_unread(reading.unread)

    async def _restore(self, name: str, rows: FileRows) -> None:
        """Restore the records of a file as they were."""
        if self.wanted.scope is not None:
            raise InvalidInput("has records with scopes of their own, which they keep; leave --scope out")
        with tempfile.TemporaryDirectory(prefix="stratagraph-") as folder:
            path = Path(folder) / "records.jsonl"
            written = await asyncio.to_thread(write_records, rows, path)
            report = await self.records.run(
                self.trust,
                path,
                restore_erased=self.wanted.restore_erased,
                dry_run=self.wanted.dry_run,
                advance=self.advance,
            )
        self.summary.add_restored(name, report, written)

    async def _add(self, read: _Read) -> None:
        """Add a memory to the batch, after storing the batch if it is full or has a version of the same memory."""
        key = read.source.key(read.memory, 0)
        slot = _bounded_slot(read.memory)
        if len(self.pending) >= BATCH or key in self.keys or (slot is not None and self.bounded[slot] >= BOUNDED):
            await self._store()
        self.pending.append(read)
        self.keys.add(key)
        if slot is not None:
            self.bounded[slot] += 1

    async def _store(self) -> None:
        """Store the batch: first the memories that were changed, then the new ones.

        So a new memory that says what a changed one said before is a fact of its own. Changed memories of which one
        says what another one said are stored one by one, for the same reason.
        """
        reads = self.pending
        self.pending, self.keys, self.bounded = [], set(), Counter()
        await self._find_owners(reads)
        await self._look_up(reads)
        read_count = len(reads)
        reads = [*reads, *await self._earlier_texts(reads)]
        changed: list[_Read] = []
        new: list[_Read] = []
        for read in reads:
            if read.is_same:
                self.summary.replayed += 1
            elif (
                read.known is not None
                and not read.learns
                and _is_older(read.memory, changed_at(read.known.payload or {}))
            ):
                self.summary.skip(OLDER)
            elif self._is_previewed(read):
                pass
            elif read.record is None:
                new.append(read)
            else:
                changed.append(read)
        said = {said_by(read.memory) for read in changed}
        together = [read for read in changed if read.known is None or said_in(read.known.payload or {}) not in said]
        await self._store_reads(together)
        await self._store_reads(new)
        for read in changed:
            if read not in together:
                await self._look_up([read])
                await self._store_reads([read])
        if reads:
            self.advance(read_count)

    async def _store_reads(self, reads: Sequence[_Read]) -> None:
        """Store memories in one transaction; look them up again where another import stores them at the same time."""
        left = list(reads)
        for _ in range(ATTEMPTS):
            items = await self._items(left)
            refused = len(self.summary.refused)
            raced = await store_items(
                self.capture,
                self.trust,
                items,
                self.summary,
                restore_erased=self.wanted.restore_erased,
                dry_run=self.wanted.dry_run,
            )
            names = {item.name for item in raced} | {one.item for one in self.summary.refused[refused:]}
            self.summary.changed += sum(read.record is not None and read.name not in names for read in left)
            names = {item.name for item in raced}
            left = [read for read in left if read.name in names]
            if not left:
                return
            await self._look_up(left)
            self.summary.replayed += sum(read.is_same for read in left)
            left = [read for read in left if not read.is_same]
        self.summary.refused += [Refused(read.name, "another import stores it; run this again") for read in left]

    async def _items(self, reads: Sequence[_Read]) -> list[Item]:
        """Return what is to be stored of memories that were looked up. A changed event is stored beside the known."""
        leaving = {read.source.ref(read.memory.id) for read in reads if read.record is not None}
        items = []
        for read in reads:
            if read.record is None:
                items.append(Item(read.name, [await self._request(read)]))
            elif isinstance(read.memory, Happening):
                items.append(Item(read.name, [await self._request(read)], Change.EDITED))
            else:
                items.append(Item(read.name, [await self._request(read, await self._replaced(read, leaving))]))
        return items

    def _is_previewed(self, read: _Read) -> bool:
        """Count a memory of which a dry run has read another version, which it does not find stored.

        Return whether there is nothing more to count, because that version says the same or is newer.
        """
        if not self.wanted.dry_run:
            return False
        key, said = read.source.key(read.memory, 0), fingerprint(read.memory)
        before, at = self.previewed.get(key, (None, None))
        if before is not None and before != said and _is_older(read.memory, at):
            self.summary.skip(OLDER)
            return True
        self.previewed[key] = said, read.memory.changed_at or read.memory.at
        if before == said:
            self.summary.replayed += 1
        elif before is not None and read.record is None:
            self.summary.changed += 1
            self.summary.superseded += isinstance(read.memory, Statement)
            self.summary.edited += [read.name] if isinstance(read.memory, Happening) else []
        return before == said

    async def _request(self, read: _Read, replaces: Sequence[UUID] = ()) -> CaptureRequest:
        """Return the capture of a memory, after storing its attachments; a dry run counts them."""
        stored = []
        for file in read.memory.attachments[:MAX_ATTACHMENTS]:
            if not _is_readable(file, most=self.artifacts.max_bytes):
                self.summary.skip("attachments that are too large or cannot be read")
                continue
            self.summary.artifacts += 1
            if not self.wanted.dry_run:
                media_type, _ = mimetypes.guess_type(file.name)
                stored.append((await self.artifacts.put(self.trust, _contents(file), media_type=media_type)).uri)
        return read.source.request(read.memory, read.version, replaces=replaces, artifacts=stored)

    async def _look_up(self, reads: Iterable[_Read]) -> None:
        """Find the latest stored version of each memory, and read it where the memory differs from it."""
        left = list(reads)
        for read in left:
            read.version, read.record, read.is_same, read.known, read.learns = 0, None, False, None, False
        differing = left
        while left:
            by_key = {read.source.key(read.memory, read.version): read for read in left}
            items = {key: ImportedItem(fingerprint=fingerprint(read.memory)) for key, read in by_key.items()}
            found = await self.capture.earlier(self.trust, items)
            left = []
            for key, earlier in found.items():
                read = by_key[key]
                read.record, read.is_same = earlier.record, earlier.is_same
                read.version += 1
                left.append(read)
        differing = [read for read in differing if read.record is not None and not read.is_same]
        records = await self.capture.stored_records(self.trust, {read.record for read in differing if read.record})
        for read in differing:
            read.known = records.get(read.record) if read.record is not None else None
        await self._complete(differing)

    async def _complete(self, reads: Iterable[_Read]) -> None:
        """Take what statements leave unsaid from their known versions, and compare them anew."""
        by_key: dict[str, _Read] = {}
        for read in reads:
            if read.known is not None and isinstance(read.memory, Statement):
                older = _is_older(read.memory, changed_at(read.known.payload or {}))
                whole = completed(read.memory, read.known, is_older=older)
                read.learns = whole is not read.memory and learns(whole, read.known)
                if whole is not read.memory:
                    read.memory = whole
                    by_key[read.source.key(whole, read.version - 1)] = read
        items = {key: ImportedItem(fingerprint=fingerprint(read.memory)) for key, read in by_key.items()}
        for key, earlier in (await self.capture.earlier(self.trust, items) if items else {}).items():
            by_key[key].is_same = earlier.is_same

    async def _find_owners(self, reads: Iterable[_Read]) -> None:
        """Find whose the statements are that do not say it, by the stored memories that they belong to."""
        asked: dict[str, _Read] = {}
        for read in reads:
            if isinstance(read.memory, Statement) and read.memory.whose is not None:
                whose = read.memory.whose
                asked[whose] = _Read(name=whose, memory=_named_statement(whose), source=read.source)
        await self._look_up(asked.values())
        for read in reads:
            if isinstance(read.memory, Statement) and read.memory.whose is not None:
                owners = owners_in(asked[read.memory.whose].known)
                read.memory = owned(read.memory, owners, named_owner) if owners else read.memory

    async def _earlier_texts(self, reads: Sequence[_Read]) -> list[_Read]:
        """Return the stored earlier texts of memories whose owners become known now, as statements about these.

        A memory that is older than what is stored of it becomes that, as a statement about its owners.
        """
        found: list[_Read] = []
        own = {read.memory.id for read in reads}
        for read in reads:
            owners = read.memory.more.get(OWNERS)
            if not owners or read.known is None or owners_in(read.known):
                continue
            if _is_older(read.memory, changed_at(read.known.payload or {})):
                told = restated(read.memory.id, read.known, read.source.system)
                read.memory = owned(told, owners, named_owner)
            for id_ in earlier_ids(read.memory.id):
                if id_ in own:
                    continue
                earlier = _Read(name=f"{read.name}: {id_}", memory=_named_statement(id_), source=read.source)
                await self._look_up([earlier])
                if earlier.known is None:
                    break
                if not owners_in(earlier.known):
                    told = restated(id_, earlier.known, read.source.system)
                    earlier.memory = owned(told, owners, named_owner)
                    found.append(earlier)
        return found

    async def _replaced(self, read: _Read, leaving: set[str]) -> list[UUID]:
        """Return the fact whose place a changed statement takes: none where another memory still says it."""
        known = read.known
        if not isinstance(read.memory, Statement) or known is None or known.state not in _CURRENT:
            return []
        sources = (known.provenance or {}).get("sources") or ()
        refs = {source["ref"] for source in sources if source.get("kind") == "observation"}
        for ref in refs - leaving:
            if await self._is_said(ref, read.source, known.id):
                self.summary.skip("changed memories whose earlier text another one still says")
                return []
        return [known.id]

    async def _is_said(self, ref: str, source: MemorySource, record: UUID) -> bool:
        """Return whether the memory of a source still is this record; another source than a memory always is."""
        prefix = f"{source.system}:"
        if not ref.startswith(prefix):
            return True
        other = _Read(name=ref, memory=_named_statement(ref.removeprefix(prefix)), source=source)
        await self._look_up([other])
        return other.record is None or other.record == record


def _named_statement(id_: str) -> Statement:
    """Return a statement that has only an id, by which the stored one is looked up."""
    return Statement(id=id_, subject=Named(name=id_), predicate=NOTE, value="")


def _bounded_slot(memory: Remembered) -> tuple[str, str] | None:
    if not isinstance(memory, Statement) or (memory.start is None and memory.end is None):
        return None
    return normalised_name(memory.subject.name), memory.predicate.casefold()


def _is_older(memory: Remembered, known: datetime | None) -> bool:
    """Return whether the known version of a memory was changed later than this one, by the times of its system."""
    own = memory.changed_at or memory.at
    return own is not None and known is not None and own < known


def _is_readable(file: Path, *, most: int) -> bool:
    try:
        return file.stat().st_size <= most and os.access(file, os.R_OK)
    except OSError:
        return False


async def _contents(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            yield chunk
