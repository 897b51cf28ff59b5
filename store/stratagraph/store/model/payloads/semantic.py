"""Semantic payloads: facts, as a triple with its validity. A fact is revised by evidence only."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import JsonValue, field_validator, model_validator

from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.payloads.base import Instant, Name, Part, Payload
from stratagraph.store.model.predicates import fact_predicate


class Validity(Part):
    mode: Literal["global", "conditional", "timeboxed"]
    conditions: dict[str, Any] | None = None
    start: Instant | None = None
    end: Instant | None = None

    @model_validator(mode="after")
    def mode_fits(self) -> Self:
        if self.mode == "conditional" and not self.conditions:
            raise ValueError(
                "mode is conditional, so conditions must name at least one key; add one, or use the mode global"
            )
        if self.mode == "global" and self.conditions:
            raise ValueError("mode is global, so it takes no conditions; leave them out, or use the mode conditional")
        if self.mode == "timeboxed" and self.start is None and self.end is None:
            raise ValueError("mode is timeboxed, so start or end must be given; add one, or use the mode global")
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise ValueError(
                f"end must be later than start, but {rfc3339(self.end)} is not after {rfc3339(self.start)}"
            )
        return self


class Revision(Part):
    supersedes: str | None = None
    superseded_by: str | None = None
    status: Literal["active", "contested", "retracted"] | None = None


class SemanticPayload(Payload):
    kind: Literal["semantic"]
    subject: Name
    predicate: Name
    object: JsonValue
    validity: Validity
    evidence: list[dict[str, Any]] | None = None
    revision_policy: Literal["replace", "fork", "contest"] | None = None
    revision: Revision | None = None

    @field_validator("predicate")
    @classmethod
    def one_spelling(cls, value: str) -> str:
        return fact_predicate(value)

    @field_validator("object")
    @classmethod
    def not_null(cls, value: JsonValue) -> JsonValue:
        if value is None:
            raise ValueError("must be a string, number, boolean, object or array, not null")
        return value
