"""Records of the RFC as a file of an export, which the import of records reads."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.imports.memories.form import RefusedMemory
from stratagraph.memory.imports.memories.format import Rows
from stratagraph.memory.imports.memories.membrane import FoundRecord, read_records
from stratagraph.store.model.enums import AuditAction, MemoryType, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import (
    AuditLine,
    Content,
    EndLine,
    FactForm,
    HeaderLine,
    LifecycleForm,
    Line,
    Period,
    RecordLine,
    RelationLine,
    line_bytes,
)
from stratagraph.store.model.payloads.semantic import Validity
from stratagraph.store.model.records import MemoryRecord, Relation
from stratagraph.store.model.rfc import ExportedRecord

_KINDS = {MemoryType.EPISODIC: SourceKind.EPISODE, MemoryType.WORKING: SourceKind.WORKING_STATE}


@dataclass(slots=True)
class RecordFile:
    """A file of an export that was written. `places` has the place of the record in each line, from line 2 on."""

    places: list[str] = field(default_factory=list)
    refused: list[RefusedMemory] = field(default_factory=list)

    def place_of(self, line: int) -> str:
        """Return where a line of the file came from."""
        number = line - 2
        return self.places[number] if 0 <= number < len(self.places) else f"relation {number - len(self.places) + 1}"


def write_records(rows: Rows, path: Path) -> RecordFile:
    """Write the records of the rows, then their relations, each once; return which were refused."""
    written = RecordFile()
    with path.open("wb") as file:
        output = _Output(file)
        output.add(HeaderLine())
        for one in read_records(rows):
            if isinstance(one, RefusedMemory):
                written.refused.append(one)
                continue
            try:
                line = record_line(one.record)
            except InvalidInput as error:
                written.refused.append(RefusedMemory(place=one.place, reason=error.message))
                continue
            output.add(line)
            written.places.append(one.place)
        seen: set[UUID] = set()
        for one in read_records(rows):
            if isinstance(one, FoundRecord):
                output.add_all(relation_line(relation) for relation in one.record.relations if relation.id not in seen)
                seen.update(relation.id for relation in one.record.relations)
        output.end()
    return written


class _Output:
    """The lines written so far: their number by kind, and their hash."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._counts: Counter[str] = Counter()
        self._digest = hashlib.sha256()

    def add(self, line: Line) -> None:
        data = line_bytes(line)
        self._counts[line.kind] += 1
        self._digest.update(data)
        self._file.write(data)

    def add_all(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self.add(line)

    def end(self) -> None:
        self._file.write(line_bytes(EndLine(counts=dict(self._counts), sha256=self._digest.hexdigest())))


def record_line(exported: ExportedRecord) -> RecordLine:
    """Return a record as a line of an export. One without a name or a text gets those that a capture would make.

    One without an audit log gets an entry of its creation, since every record here has one.

    Raises InvalidInput for the payload of a fact that is none.
    """
    record = exported.record
    assert record.payload is not None
    assert record.lifecycle is not None
    lifecycle, decay = record.lifecycle, record.lifecycle.decay
    name, text = _caption(record)
    payload = record.payload
    if record.type is MemoryType.SEMANTIC and "revision" in payload:  # the state says it
        revision = {key: value for key, value in (payload["revision"] or {}).items() if key != "status"}
        rest = {key: value for key, value in payload.items() if key != "revision"}
        payload = rest | ({"revision": revision} if revision else {})
    return RecordLine(
        id=record.id,
        type=record.type,
        sensitivity=record.sensitivity,
        state=record.state,
        version=record.version,
        confidence=record.confidence,
        created_at=record.created_at,
        occurred_at=record.occurred_at,
        updated_at=record.updated_at,
        content=Content(
            name=record.name or name,
            text=record.text or text,
            payload=payload,
            provenance=record.provenance or {"sources": []},
            interpretation=record.interpretation,
        ),
        lifecycle=LifecycleForm(
            s=lifecycle.s,
            t0=lifecycle.t0,
            curve=decay.curve,
            half_life_s=decay.half_life_s,
            reinforcement_gain=decay.reinforcement_gain,
            min_salience=decay.min_salience,
            max_age_s=decay.max_age_s,
            params=decay.params,
            pinned=lifecycle.pinned,
            deletion_policy=lifecycle.deletion_policy,
            last_reinforced_at=lifecycle.last_reinforced_at,
        ),
        scope=record.scope,
        tags=record.tags,
        fact=_fact(exported) if record.type is MemoryType.SEMANTIC else None,
        audit=tuple(
            AuditLine(
                action=AuditAction(entry.action), actor=entry.actor, at=entry.timestamp, rationale=entry.rationale
            )
            for entry in exported.audit
        )
        or (AuditLine(action=AuditAction.CREATE, actor="membrane", at=record.created_at),),
    )


def relation_line(relation: Relation) -> RelationLine:
    """Return a relation as a line of an export."""
    return RelationLine(
        id=relation.id,
        source=relation.source,
        target=relation.target,
        predicate=relation.predicate,
        weight=relation.weight,
        created_at=relation.created_at,
    )


def _fact(exported: ExportedRecord) -> FactForm:
    """Return what a fact has beside its payload. Its entities are those that its relations name."""
    record = exported.record
    validity = Validity.model_validate((record.payload or {})["validity"])
    period = Period(start=validity.start, end=validity.end)
    ends = {relation.predicate: relation.target for relation in exported.relations if relation.source == record.id}
    return FactForm(
        validity=period,
        stated=period,
        evidence_at=record.occurred_at,
        subject_entity=ends.get("subject_entity"),
        object_entity=ends.get("object_entity"),
    )


def _caption(record: MemoryRecord) -> tuple[str, str]:
    request = CaptureRequest(
        source="membrane", source_kind=_KINDS.get(record.type, SourceKind.OBSERVATION), content=record.payload or {}
    )
    draft = Draft(
        request=request,
        position=0,
        type=record.type,
        payload=dict(record.payload or {}),
        occurred_at=record.occurred_at,
    )
    caption(draft)
    return draft.name, draft.text
