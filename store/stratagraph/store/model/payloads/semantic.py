"""Semantic payloads: facts, as a triple with its validity. A fact is revised by evidence only."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.payloads.base import Instant, Name, Part, Payload
from stratagraph.store.model.predicates import fact_predicate

NOTE = "memory"  # predicate of a fact that is a text: what is to be remembered about its subject
NOTES = "notes"  # subject of a note of which is not said whom or what it is about


class Validity(Part):
    mode: Literal["global", "conditional", "timeboxed"] = Field(
        description="Whether the fact always holds, under conditions, or in a time."
    )
    conditions: dict[str, Any] | None = Field(
        default=None, description="Conditions under which it holds, as {key: value or [values]}."
    )
    start: Instant | None = Field(default=None, description="Instant from which it holds; absent for no bound.")
    end: Instant | None = Field(
        default=None, description="Instant before which it holds, later than start; absent for no bound."
    )

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
    supersedes: str | None = Field(default=None, description="Id of the record whose place it took.")
    superseded_by: str | None = Field(default=None, description="Id of the record that took its place.")
    status: Literal["active", "contested", "retracted"] | None = Field(
        default=None, description="State of the fact; absent of a superseded one."
    )


class SemanticPayload(Payload):
    kind: Literal["semantic"]
    subject: Name = Field(description="Whom or what the fact is about.")
    predicate: Name = Field(description="What is said, such as works_at.")
    object: JsonValue = Field(description="The value, any JSON value but null; a text may name an entity.")
    validity: Validity = Field(description="When, or under which conditions, the fact holds.")
    evidence: list[dict[str, Any]] | None = Field(
        default=None, description="Its sources, each {kind, ref, timestamp?} or {source_type, source_id, timestamp?}."
    )
    revision_policy: Literal["replace", "fork", "contest"] | None = Field(
        default=None,
        description="What becomes of facts that contradict it: they are replaced, none may, or both are in dispute.",
    )
    revision: Revision | None = Field(default=None, description="Rendered from the state of the record; not an input.")

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
