"""Membrane: records in one of the two forms of its RFC, which come back as they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from stratagraph.memory.imports.formats.format import Difference, first_difference
from stratagraph.memory.imports.memories.form import RefusedMemory
from stratagraph.memory.imports.memories.format import Row, Rows, first_fitting
from stratagraph.store.model.errors import InvalidInput, LimitExceeded
from stratagraph.store.model.rfc import ExportedRecord, from_appendix, from_normative

KEY = "membrane"
NAME = "Membrane records"
FIELDS = frozenset(
    {"records", "id", "payload", "sensitivity", "lifecycle", "decay_profile", "salience", "provenance", "relationships"}
)
DOCUMENTED = "the Membrane RFC: its schema appendix, and its block of canonical schemas (15A)"


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """A record of a file, with its relations and audit log, and its place there."""

    place: str = field(repr=False)
    record: ExportedRecord


def difference(row: Any) -> Difference | None:
    """Return None for a record, or an object with a list of `records`; else the first difference from that."""
    return first_fitting((value for _, value in _documents(Row("", row))), _record_difference)


def _record_difference(value: Any) -> Difference | None:
    is_object = isinstance(value, dict)
    return first_difference(
        [
            (is_object, "its first value is no object"),
            (is_object and isinstance(value.get("id"), str), "it has no `id` that is a string"),
            (is_object and isinstance(value.get("payload"), dict), "it has no `payload` that is an object"),
            (is_object and "sensitivity" in value, "it has no `sensitivity`"),
            (
                is_object and ("decay_profile" in value or "lifecycle" in value),
                "it has neither `lifecycle` nor `decay_profile`",
            ),
        ]
    )


def read_records(rows: Rows) -> Iterator[FoundRecord | RefusedMemory]:
    """Yield the records of a file; one that is malformed is yielded as refused, and the others are read."""
    for row in rows:
        if isinstance(row, RefusedMemory):
            yield row
            continue
        for place, value in _documents(row):
            try:
                yield FoundRecord(place, _read(value))
            except (InvalidInput, LimitExceeded) as error:
                yield RefusedMemory(place=place, reason=error.message)


def _documents(row: Row) -> Iterator[tuple[str, Any]]:
    value = row.value
    if not isinstance(value, dict) or not isinstance(value.get("records"), list):
        yield row.place, value
        return
    for number, one in enumerate(value["records"]):
        yield " ".join(filter(None, (row.place, f"records.{number}"))), one


def _read(value: Any) -> ExportedRecord:
    is_normative = isinstance(value, dict) and ("decay_profile" in value or "relationships" in value)
    return from_normative(value) if is_normative else from_appendix(value)
