"""Revisions with typed payloads and evidence, beside those with JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import strawberry

from stratagraph.graphql.flat_inputs import nested_input
from stratagraph.graphql.scalars import JSON
from stratagraph.graphql.types.revision_inputs import EXPECTED, KEY, RATIONALE, RECORD_ID
from stratagraph.graphql.types.typed_inputs import (
    EvidenceInput,
    PayloadInput,
    evidence_given,
    payload_given,
    renamed_payload,
)
from stratagraph.memory.revise import request as domain
from stratagraph.memory.revise.request import MAX_EVIDENCE
from stratagraph.store.model.ids import parse_id

_EVIDENCE = f"At most {MAX_EVIDENCE} sources; required for a fact."


@nested_input
@strawberry.input(description="Replace a record by a new one with a typed payload; `supersede` takes it as JSON.")
class SupersedeRecordInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    replacement: PayloadInput = strawberry.field(
        description="The complete new payload, of the record's type. Of an entity, what is left out stays, and a null"
        " removes an optional field."
    )
    evidence: list[EvidenceInput] | None = strawberry.field(default=None, description=_EVIDENCE)
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Supersede:
        return domain.Supersede(
            record_id=parse_id(self.record_id, path=["recordId"]),
            payload=payload_given(cast(Mapping[str, Any], self.replacement)),
            evidence=tuple(evidence_given(cast(list[Mapping[str, Any]] | None, self.evidence))),
            rationale=self.rationale,
            expected_version=self.expected_version,
            idempotency_key=self.idempotency_key,
        )

    def renamed(self, path: list[str]) -> list[str]:
        return renamed_payload("replacement", cast(Mapping[str, Any], self.replacement), path)


@nested_input
@strawberry.input(description="Add a variant of a record with a typed payload; `fork` takes it as JSON.")
class ForkRecordInput:
    record_id: strawberry.ID = strawberry.field(description=RECORD_ID)
    variant: PayloadInput = strawberry.field(description="The complete payload of the variant, of the record's type.")
    conditions: JSON = strawberry.field(
        description="Conditions under which the variant holds, {key: value or [values]}. They must exclude those of"
        " every other active fact of the subject and predicate."
    )
    evidence: list[EvidenceInput] | None = strawberry.field(default=None, description=_EVIDENCE)
    rationale: str = strawberry.field(description=RATIONALE)
    expected_version: int | None = strawberry.field(default=None, description=EXPECTED)
    idempotency_key: str | None = strawberry.field(default=None, description=KEY)

    def as_request(self) -> domain.Fork:
        return domain.Fork(
            record_id=parse_id(self.record_id, path=["recordId"]),
            payload=payload_given(cast(Mapping[str, Any], self.variant)),
            conditions=cast(dict[str, Any], self.conditions),
            evidence=tuple(evidence_given(cast(list[Mapping[str, Any]] | None, self.evidence))),
            rationale=self.rationale,
            expected_version=self.expected_version,
            idempotency_key=self.idempotency_key,
        )

    def renamed(self, path: list[str]) -> list[str]:
        return renamed_payload("variant", cast(Mapping[str, Any], self.variant), path)
