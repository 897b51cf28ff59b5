"""What captures and revisions did to stored records, as their receipts list it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust, Visibility


class Effect(StrEnum):
    """What a capture or a revision did to a stored record.

    TRIMMED: its validity begins or ends at another instant. REVISED: its content or its state changed in another way.
    """

    SUPERSEDED = "superseded"
    CONTESTED = "contested"
    REINFORCED = "reinforced"
    TRIMMED = "trimmed"
    REVISED = "revised"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChange:
    """A stored record that a request changed, as it is after the whole request, and what was done to it."""

    record: MemoryRecord
    effect: Effect


def as_visible(trust: Trust, record: MemoryRecord) -> MemoryRecord | None:
    """Return the record as the caller may see it: in full, redacted, or not at all (None)."""
    match trust.visibility(scope=record.scope, sensitivity=record.sensitivity):
        case Visibility.FULL:
            return record
        case Visibility.NONE:
            return None
        case _:
            return record.as_redacted()


def visible_changes(
    trust: Trust, records: Mapping[UUID, MemoryRecord], effects: Iterable[tuple[UUID, Effect]]
) -> tuple[RecordChange, ...]:
    """Return the changes whose records the caller may see, in full or redacted; records that are gone are left out."""
    seen = {id_: as_visible(trust, record) for id_, record in records.items()}
    found = [(seen.get(id_), effect) for id_, effect in effects]
    return tuple(RecordChange(record=record, effect=effect) for record, effect in found if record is not None)
