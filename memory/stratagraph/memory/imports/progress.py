"""Progress and summary of an import, and the lifecycle of imported records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import Retention
from stratagraph.store.model.enums import DeletionPolicy, MemoryType
from stratagraph.store.model.errors import InvalidInput

IMPORT_RETENTION = Retention(half_life_s=timedelta(days=30).total_seconds(), deletion_policy=DeletionPolicy.MANUAL_ONLY)

MAX_UNREAD = 200  # paths of fields that are listed

Advance = Callable[[int], None]  # called with the progress since the last call: commits stored, or bytes read


@dataclass(frozen=True, slots=True)
class Refused:
    """An item that was not imported, such as `line 3` or `commit 1a2b…`, and why.

    `reason` may quote the item, `code`, that of an error, does not.
    """

    item: str
    reason: str
    code: str = InvalidInput.code


@dataclass(slots=True)
class ImportSummary:
    """Counts of one import.

    `items` counts the commits or conversations read, `captured` the captures stored by this run, `replayed` those
    stored by an earlier run, and `erased` those that were erased and so are not stored again. `records` has the number
    of records created by type, `skipped` the number left out by reason. `continued` counts known conversations that got
    new turns; `edited` lists the items that differ from the known ones of the same id and were stored beside them.
    `warnings` has the number of warnings of this run's captures by code, `formats` the number of conversations by
    format, `unread` the fields that were present and not read, by path, and `artifacts` the attachments stored.
    """

    source: str
    items: int = 0
    captured: int = 0
    replayed: int = 0
    erased: int = 0
    records: dict[str, int] = field(default_factory=dict)
    edges: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    continued: int = 0
    edited: list[str] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    warnings: dict[str, int] = field(default_factory=dict)
    formats: dict[str, int] = field(default_factory=dict)
    unread: dict[str, int] = field(default_factory=dict)
    artifacts: int = 0

    def refuse(self, item: str, reason: str, *, code: str = InvalidInput.code) -> None:
        """List what is not imported."""
        self.refused.append(Refused(item, reason, code))

    def add(self, answers: Iterable[Captured]) -> None:
        """Add the answers to captures to the counts."""
        for answer in answers:
            if answer.replayed:
                self.replayed += 1
                continue
            self.captured += 1
            for warning in answer.warnings:
                self.warnings[warning.code.value] = self.warnings.get(warning.code.value, 0) + 1
            self.edges += len(answer.edges)
            for record in answer.created:
                self.count_record(record.type)

    def count_record(self, memory_type: MemoryType) -> None:
        """Count one created record of a type."""
        self.records[memory_type.label] = self.records.get(memory_type.label, 0) + 1

    def count_format(self, name: str) -> None:
        """Count a conversation that is read as one of a format."""
        self.formats[name] = self.formats.get(name, 0) + 1

    def count_unread(self, fields: Mapping[str, int]) -> None:
        """Count fields that were not read; of more than MAX_UNREAD paths, the others together."""
        for path, times in fields.items():
            name = path if path in self.unread or len(self.unread) < MAX_UNREAD else "other fields"
            self.unread[name] = self.unread.get(name, 0) + times

    def skip(self, reason: str, times: int = 1) -> None:
        """Count items that were left out for `reason`."""
        if times:
            self.skipped[reason] = self.skipped.get(reason, 0) + times
