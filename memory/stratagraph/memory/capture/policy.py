"""The policy: sensitivity, confidence, lifecycle and scope of a capture (docs/specification.md, Capture).

Rules are read from a JSON file, `{"rules": [{"when": {…}, "set": {…}}]}`, and applied in order; a later rule overrides
an earlier one. Rules override the classifier and the caller, and may raise a record above the caller's ceiling.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from stratagraph.memory.capture.draft import Draft
from stratagraph.store.model.curves import custom_curve
from stratagraph.store.model.enums import Curve, DeletionPolicy, MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput, Misconfigured
from stratagraph.store.model.payloads import invalid
from stratagraph.store.model.salience import DAY, HALF_LIFE_S, Decay
from stratagraph.store.model.trust import Trust

CONFIDENCE: dict[SourceKind, float] = {
    SourceKind.EVENT: 0.8,
    SourceKind.TOOL_OUTPUT: 0.9,
    SourceKind.OBSERVATION: 0.7,
    SourceKind.OUTCOME: 0.85,
    SourceKind.WORKING_STATE: 1.0,
    SourceKind.AGENT_TURN: 0.8,
    SourceKind.EPISODE: 0.8,
}


class When(BaseModel):
    """The conditions of a rule: every given field must match; a list matches any of its members."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    source: list[str] | None = None
    source_kind: list[SourceKind] | None = None
    type: list[str] | None = None
    scope: list[str] | None = None
    tag: list[str] | None = None
    predicate: list[str] | None = None
    tool: list[str] | None = None


class Effect(BaseModel):
    """What a rule sets; a field left out is not changed. Durations are in seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    sensitivity: str | None = Field(default=None, pattern="^(public|low|medium|high|hyper)$")
    confidence: float | None = Field(default=None, ge=0, le=1)
    scope: str | None = None
    curve: str | None = Field(default=None, pattern="^(exponential|linear|custom)$")
    params: dict[str, Any] | None = None
    half_life_seconds: float | None = Field(default=None, ge=1)
    min_salience: float | None = Field(default=None, ge=0, le=1)
    max_age_seconds: float | None = Field(default=None, ge=1)
    deletion_policy: str | None = Field(default=None, pattern="^(auto_prune|manual_only|never)$")

    @model_validator(mode="after")
    def curve_and_params_fit(self) -> Self:
        if self.curve != "custom" and self.params is not None:
            raise ValueError('params are only allowed with "curve": "custom"; set that curve, or remove params')
        if self.curve == "custom":
            try:
                custom_curve(self.params, path=["set"])
            except InvalidInput as error:
                raise ValueError(error.message) from error
        return self


class Rule(BaseModel):
    """One rule of the policy file, where `effect` is named `set`."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
    when: When
    effect: Effect = Field(alias="set")


class _RuleFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    rules: list[Rule]


@dataclass(frozen=True, slots=True)
class Policy:
    """The default policy (docs/specification.md, Capture and Salience) with the rules of this installation."""

    rules: tuple[Rule, ...] = field(default=())

    @classmethod
    def load(cls, path: Path | None) -> Self:
        """Read the rules from a file; without a path, there are none.

        Raises Misconfigured naming the file and the fault.
        """
        if path is None:
            return cls()
        try:
            return cls(tuple(_RuleFile.model_validate_json(path.read_bytes()).rules))
        except OSError as error:
            raise Misconfigured(
                f"STRATAGRAPH_POLICY_FILE: {path} cannot be read: {error.strerror}. Name a readable file, or unset it."
            ) from error
        except ValidationError as error:
            raise Misconfigured(
                f"STRATAGRAPH_POLICY_FILE: {path} is not valid; correct it: {invalid(error, ['file']).message}"
            ) from error

    def apply(self, draft: Draft, trust: Trust) -> None:
        """Set the draft's scope, sensitivity, confidence and lifecycle.

        Raises Forbidden where the request exceeds the credential, InvalidInput where it must name a scope and does not.
        """
        request = draft.request
        draft.scope = trust.scope_for_write(request.scope)
        draft.sensitivity = trust.sensitivity_for_write(request.sensitivity)
        draft.confidence = CONFIDENCE[request.source_kind]
        draft.decay = Decay(half_life_s=HALF_LIFE_S.get(draft.type, DAY))
        if request.retention is not None:
            draft.decay = replace(draft.decay, half_life_s=request.retention.half_life_s)
            draft.deletion_policy = request.retention.deletion_policy
        for rule in self.rules:
            if _matches(rule.when, draft):
                _apply_effect(rule.effect, draft)


def entity_decay() -> Decay:
    """Return the default decay of an entity."""
    return Decay(half_life_s=HALF_LIFE_S[MemoryType.ENTITY])


def _matches(when: When, draft: Draft) -> bool:
    facts: list[tuple[list[Any] | None, list[Any]]] = [
        (when.source, [draft.request.source]),
        (when.source_kind, [draft.request.source_kind]),
        (when.type, [draft.type.label]),
        (when.scope, [draft.scope]),
        (when.tag, list(draft.request.tags)),
        (when.predicate, [draft.payload.get("predicate")]),
        (when.tool, draft.called_tools),
    ]
    return all(wanted is None or any(value in wanted for value in values) for wanted, values in facts)


def _apply_effect(effect: Effect, draft: Draft) -> None:
    if effect.sensitivity is not None:
        draft.sensitivity = Sensitivity[effect.sensitivity.upper()]
    if effect.confidence is not None:
        draft.confidence = effect.confidence
    if effect.scope is not None:
        draft.scope = effect.scope
    if effect.deletion_policy is not None:
        draft.deletion_policy = DeletionPolicy[effect.deletion_policy.upper()]
    decay = draft.decay
    draft.decay = replace(
        decay,
        curve=Curve[effect.curve.upper()] if effect.curve else decay.curve,
        half_life_s=effect.half_life_seconds or decay.half_life_s,
        min_salience=decay.min_salience if effect.min_salience is None else effect.min_salience,
        max_age_s=effect.max_age_seconds or decay.max_age_s,
        params=effect.params if effect.curve else decay.params,
    )
