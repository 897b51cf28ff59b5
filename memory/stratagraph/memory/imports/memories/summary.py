"""Counts of an import of memories."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import orjson

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.imports.memories.record_file import RecordFile
from stratagraph.memory.imports.progress import ImportSummary, Refused
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.transfer.restoration_report import RestorationReport
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.records import MemoryRecord

_IDENTITY = {
    MemoryType.ENTITY: ("canonical_name", "identifiers"),
    MemoryType.SEMANTIC: ("subject", "predicate", "object", "validity"),
}


@dataclass(slots=True)
class MemorySummary(ImportSummary):
    """Counts of one import of memories, of which `items` is the number read, and `formats` that of files by format.

    `changed` counts memories that were changed since they were imported, and `superseded` the facts whose place others
    took. With `dry_run`, nothing was stored, and the counts say what would be.
    """

    changed: int = 0
    superseded: int = 0
    dry_run: bool = False
    previewed: set[bytes] = field(default_factory=set, repr=False)

    def add(self, answers: Iterable[Captured]) -> None:
        """Add the answers to captures to the counts.

        In a dry run, what one batch would create is not there for the next one, which would create it again; so each
        entity and fact is counted once.
        """
        listed = list(answers)
        ImportSummary.add(self, listed)
        for answer in listed:
            self.superseded += sum(change.effect is Effect.SUPERSEDED for change in answer.changes)
            if self.dry_run and not answer.replayed:
                for record in answer.created:
                    identity = _identity(record)
                    if identity is not None and identity in self.previewed:
                        self.records[record.type.label] -= 1
                    elif identity is not None:
                        self.previewed.add(identity)

    def add_restored(self, name: str, report: RestorationReport, written: RecordFile) -> None:
        """Add the report on the records of the file `name`, which were written as the file of an export."""
        self.items += len(written.places) + len(written.refused)
        self.replayed += report.unchanged
        for label, count in report.stored.items():
            self.captured += count
            self.records[label] = self.records.get(label, 0) + count
        self.edges += report.relations
        for reason, count in report.left_out.items():
            self.skip(reason, count)
        self.refused += [Refused(f"{name} {one.place}".strip(), one.reason) for one in written.refused]
        self.refused += [Refused(f"{name} {written.place_of(one.line)}".strip(), one.reason) for one in report.refused]


def _identity(record: MemoryRecord) -> bytes | None:
    """Return what tells an entity or a fact from others; None for records that are always new."""
    fields = _IDENTITY.get(record.type)
    if fields is None or record.payload is None:
        return None
    said = [record.type.label, record.scope, *(record.payload.get(name) for name in fields)]
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS)
