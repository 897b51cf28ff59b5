"""Progress and summary of an import, and the lifecycle of imported records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from stratagraph.memory.capture.request import Retention
from stratagraph.memory.capture.service import Captured
from stratagraph.store.model.enums import DeletionPolicy, MemoryType

IMPORT_RETENTION = Retention(half_life_s=timedelta(days=30).total_seconds(), deletion_policy=DeletionPolicy.MANUAL_ONLY)

Advance = Callable[[int], None]  # called with the number of items just stored


@dataclass(slots=True)
class ImportSummary:
    """Counts of one import.

    `items` counts the commits or conversations read, `captured` the captures stored by this run, and `replayed` those
    stored by an earlier run. `records` has the number of records created by type, `skipped` the number left out by
    reason.
    """

    source: str
    items: int = 0
    captured: int = 0
    replayed: int = 0
    records: dict[str, int] = field(default_factory=dict)
    edges: int = 0
    skipped: dict[str, int] = field(default_factory=dict)

    def add(self, answers: Iterable[Captured]) -> None:
        """Add the answers to captures to the counts."""
        for answer in answers:
            if answer.replayed:
                self.replayed += 1
                continue
            self.captured += 1
            self.edges += len(answer.edges)
            for record in answer.created:
                self.count_record(record.type)

    def count_record(self, memory_type: MemoryType) -> None:
        """Count one created record of a type."""
        self.records[memory_type.label] = self.records.get(memory_type.label, 0) + 1

    def skip(self, reason: str) -> None:
        """Count one item that was left out for `reason`."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
