"""Progress and summary of an import, and the lifecycle of imported records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import Retention
from stratagraph.store.model.enums import DeletionPolicy, MemoryType

IMPORT_RETENTION = Retention(half_life_s=timedelta(days=30).total_seconds(), deletion_policy=DeletionPolicy.MANUAL_ONLY)

Advance = Callable[[int], None]  # called with the number of items just read, and stored unless they were refused


@dataclass(frozen=True, slots=True)
class Refused:
    """An item that was not imported, such as `line 3` or `commit 1a2b…`, and why."""

    item: str
    reason: str


@dataclass(slots=True)
class ImportSummary:
    """Counts of one import.

    `items` counts the commits or conversations read, `captured` the captures stored by this run, `replayed` those
    stored by an earlier run, and `erased` those that were erased and so are not stored again. `records` has the number
    of records created by type, `skipped` the number left out by reason. `continued` counts known conversations that got
    new turns; `edited` lists the items that differ from the known ones of the same id and were stored beside them.
    `warnings` has the number of warnings of this run's captures by code.
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

    def skip(self, reason: str, times: int = 1) -> None:
        """Count items that were left out for `reason`."""
        if times:
            self.skipped[reason] = self.skipped.get(reason, 0) + times
