"""What every step of an import of records works with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from stratagraph.memory.transfer.export_file import ExportFile, NumberedLine, id_in
from stratagraph.memory.transfer.new_ids import IdSet, NewIds
from stratagraph.memory.transfer.restoration_report import RestorationReport
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
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
    `counts` are the numbers of the file's lines of each kind. `ids` are the records of the file, as they would be
    stored, in a dry run, which stores none.
    """

    database: Database
    directory: Directory
    caller: Caller
    writer: Caller
    file: ExportFile
    report: RestorationReport
    restore_erased: bool
    counts: Counter[str]
    ids: IdSet | None = None
    new_ids: NewIds | None = None

    @property
    def is_dry_run(self) -> bool:
        return self.report.is_dry_run

    def lines(self, *kinds: str) -> Iterator[NumberedLine]:
        """Yield the lines of these kinds, with other ids where these are wanted."""
        if not any(self.counts[kind] for kind in kinds):
            return
        for line in self.file.lines(kinds):
            text = line.text if self.new_ids is None else self.new_ids.applied(line.text)
            yield NumberedLine(line.number, line.kind, text)

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
            return _batches(self._parsed(RecordLine, chosen, tells=False))
        return _batches(self._whole_records())

    def _whole_records(self) -> Iterator[tuple[int, RecordLine, int]]:
        whole: tuple[int, RecordLine, int] | None = None
        for line in self.lines("record", "record_part"):
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
            whole = (line.number, parsed, len(line.text)) if isinstance(parsed, RecordLine) else None
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
