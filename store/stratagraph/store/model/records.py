"""Records, relations and audit entries as the store returns them: frozen values, whole or redacted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity
from stratagraph.store.model.payloads.entity import NAMING
from stratagraph.store.model.salience import Salience


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRecord:
    """One memory. `confidence` and `salience` are in [0, 1]; `salience` is the value at the instant of reading.

    `payload` is the canonical JSON of its type's schema (`payloads/`). The payload of a thread's episode has no
    timeline until `episodes.assemble` reads it for a caller. A fact holds from `valid_from` until before `valid_to`;
    None is without bound. `learned_tools` are the tools of a skill or plan that was learned from episodes; None of any
    other record. A redacted record keeps id, tenant, type, sensitivity, confidence, salience, scope, tags and
    the instants of its writes and its content, and nothing else.
    """

    id: UUID
    tenant: str
    type: MemoryType
    scope: str
    sensitivity: Sensitivity
    state: RecordState
    confidence: float
    salience: float
    tags: tuple[str, ...]
    created_at: datetime
    occurred_at: datetime
    updated_at: datetime
    version: int
    redacted: bool = False
    name: str | None = None
    text: str | None = None
    payload: dict[str, Any] | None = None
    lifecycle: Salience | None = None
    provenance: dict[str, Any] | None = None
    interpretation: dict[str, Any] | None = None
    learned_tools: tuple[str, ...] | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @property
    def conditions(self) -> dict[str, Any] | None:
        """The conditions under which a fact holds; None without any, and for a record without content."""
        if self.type is not MemoryType.SEMANTIC or self.payload is None:
            return None
        validity = self.payload.get("validity")  # of earlier versions it may be anything
        return (validity.get("conditions") or None) if isinstance(validity, dict) else None

    @property
    def is_bare(self) -> bool:
        """Whether it is an entity of which no more is stored than names, a type and identifiers."""
        if self.type is not MemoryType.ENTITY or self.payload is None or self.text is None:
            return False
        return self.payload.keys() <= {*NAMING} and "\n" not in self.text

    def holds_at(self, at: datetime) -> bool:
        """Return whether the validity includes the instant; True for every record that is no fact."""
        return (self.valid_from is None or self.valid_from <= at) and (self.valid_to is None or at < self.valid_to)

    def as_redacted(self) -> MemoryRecord:
        """Return a copy of the record without its content, state, version, validity, lifecycle and provenance."""
        return replace(
            self,
            redacted=True,
            state=RecordState.ACTIVE,
            version=0,
            name=None,
            text=None,
            payload=None,
            lifecycle=None,
            provenance=None,
            interpretation=None,
            learned_tools=None,
            valid_from=None,
            valid_to=None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A directed edge between two records, stored once, in the direction of its predicate. Weight in [0, 1].

    `predicates.inverse` names the same edge as read from its target.
    """

    id: UUID
    source: UUID
    target: UUID
    predicate: str
    weight: float
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One entry of a record's audit log. `rationale` is None where none was given or its text was erased.

    `seq` is the number of the entry in the record's log, from 1.
    """

    seq: int = field(compare=False)  # the forms of the RFC have no such number
    action: str
    actor: str
    timestamp: datetime
    rationale: str | None
