"""What every step of an import of records works with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar
from uuid import UUID

from stratagraph.memory.transfer.export_file import ExportFile, NumberedLine, id_in
from stratagraph.memory.transfer.new_ids import IdSet, MappedIds, NewIds
from stratagraph.memory.transfer.restoration_report import RestorationReport
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import Line, RecordLine, RecordPartLine, parse_line
from stratagraph.store.postgres.database import Database
from stratagraph.store.transfer.checking import check_line

BATCH = 500  # lines that are stored in one transaction
BATCH_BYTES = 2**23  # and bytes of them, unless a single line has more
T = TypeVar("T", bound=Line)


@dataclass(slots=True, kw_only=True)
class ImportSession:
    """One import: its file and caller, what it does to ids and erased records, and its report.

    `writer` may see all records of the tenant, since an import must not store what contradicts a hidden one.
    `counts` are the numbers of the file's lines of each kind, `ids` its records. Those that are stored here under other
    ids are `mapped` to these; they are not stored again. `lost` are entities that cannot be stored, and `contradicted`
    has the facts that contradict one here of the same content, with the reason.
    """

    database: Database
    directory: Directory
    caller: Caller
    writer: Caller
    file: ExportFile
    report: RestorationReport
    restore_erased: bool
    counts: Counter[str]
    ids: IdSet
    new_ids: NewIds | None
    mapped: MappedIds = field(default_factory=MappedIds)
    lost: set[UUID] = field(default_factory=set)
    contradicted: dict[UUID, str] = field(default_factory=dict)

    @property
    def is_dry_run(self) -> bool:
        return self.report.is_dry_run

    def lines(self, *kinds: str) -> Iterator[NumberedLine]:
        """Yield the lines of these kinds, with other ids where these are wanted."""
        if not any(self.counts[kind] for kind in kinds):
            return
        for line in self.file.lines(kinds):
            text = line.text if self.new_ids is None else self.new_ids.applied(line.text)
            yield replace(line, text=self.mapped.applied(text))

    def batches(self, form: type[T], kind: str) -> Iterator[Sequence[tuple[int, T]]]:
        """Yield batches of the parsed lines of a kind, each with its number; refuse lines that cannot be parsed."""
        return _batches(self._parsed(form, self.lines(kind)))

    def records(self, *, holding: Collection[bytes] = ()) -> Iterator[Sequence[tuple[int, RecordLine]]]:
        """Yield batches of the file's records, each with the lines that continue it.

        A record with such a line that cannot be parsed is refused. With `holding`, only the records are yielded whose
        own line has one of these texts, without the lines that continue them, and nothing is refused: that has been
        done by the time at which they are read once more.
        """
        if holding:
            chosen = (one for one in self.lines("record") if any(part in one.text for part in holding))
            parsed = self._parsed(RecordLine, chosen, tells=False)
            return _batches(one for one in parsed if not self.mapped.has_taken(one[1].id))
        return _batches(self._whole_records())

    def records_of(self, type_: MemoryType) -> Iterator[Sequence[tuple[int, RecordLine]]]:
        """Yield batches of the file's records of a type, without the lines that continue them.

        Those that cannot be parsed are lost, and refused when all records are read.
        """
        return _batches(self._parsed_of(type_))

    def _parsed_of(self, type_: MemoryType) -> Iterator[tuple[int, RecordLine, int]]:
        for line in self.lines("record"):
            if line.type != type_.label:
                continue
            try:
                parsed = parse_line(line.text)
            except InvalidInput:
                if (id_ := id_in(line.text)) is not None:
                    self.lost.add(id_)
                continue
            if isinstance(parsed, RecordLine) and not self.mapped.has_taken(parsed.id):
                yield line.number, parsed, len(line.text)

    def _whole_records(self) -> Iterator[tuple[int, RecordLine, int]]:
        whole: tuple[int, RecordLine, int] | None = None
        is_mapped = False
        for line in self.lines("record", "record_part"):
            if is_mapped and line.kind == "record_part":
                continue
            try:
                parsed = parse_line(line.text)
                if isinstance(parsed, RecordPartLine):
                    whole = _continued(whole, parsed, len(line.text))
                    continue
            except InvalidInput as error:
                is_part, id_ = line.kind == "record_part", None if whole is None else whole[1].id
                self.report.refuse(line.number, "record", id_ if is_part else id_in(line.text), error.message)
                if is_part:
                    whole = None
                    continue
                parsed = None
            if whole is not None:
                yield whole
            is_mapped = isinstance(parsed, RecordLine) and self.mapped.has_taken(parsed.id)
            whole = (line.number, parsed, len(line.text)) if isinstance(parsed, RecordLine) and not is_mapped else None
        if whole is not None:
            yield whole

    def _parsed(
        self, form: type[T], lines: Iterable[NumberedLine], *, tells: bool = True
    ) -> Iterator[tuple[int, T, int]]:
        for line in lines:
            try:
                parsed = parse_line(line.text)
                check_line(parsed)
            except InvalidInput as error:
                if tells:
                    self.report.refuse(line.number, line.kind, None, error.message)
                continue
            assert isinstance(parsed, form)  # since its kind is that of the form
            yield line.number, parsed, len(line.text)


def _continued(
    whole: tuple[int, RecordLine, int] | None, part: RecordPartLine, size: int
) -> tuple[int, RecordLine, int]:
    """Return a record with the history and the log of a line that continues it. Raises InvalidInput without one."""
    if whole is None or whole[1].id != part.id:
        raise InvalidInput("id: is not that of the record above, which this line would continue", path=["id"])
    number, line, before = whole
    longer = replace(line, history=(*line.history, *part.history), audit=(*line.audit, *part.audit))
    return number, longer, before + size


def _batches(lines: Iterable[tuple[int, T, int]]) -> Iterator[Sequence[tuple[int, T]]]:
    """Yield lines, given with their numbers and sizes, in batches."""
    batch: list[tuple[int, T]] = []
    size = 0
    for number, line, length in lines:
        batch.append((number, line))
        size += length
        if len(batch) >= BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
