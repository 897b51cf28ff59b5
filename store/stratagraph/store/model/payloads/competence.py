"""Competence payloads: triggers, a recipe and its success so far. A lesson is a competence with a `lesson` block."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from stratagraph.store.model.payloads.base import Count, Instant, Latency, Name, Part, Payload, Share


class Trigger(Part):
    signal: Name = Field(description="Words of the situation in which the skill applies.")
    conditions: dict[str, Any] | None = Field(
        default=None, description="Conditions under which it applies, as {key: value or [values]}."
    )


class RecipeStep(Part):
    step: Name = Field(description="What to do.")
    tool: str | None = Field(default=None, description="Tool that the step uses.")
    args_schema: dict[str, Any] | None = Field(default=None, description="JSON Schema of the tool's arguments.")
    validation: str | None = Field(default=None, description="How to tell that the step worked.")


class Performance(Part):
    success_count: Count | None = Field(default=None, description="Number of executions that succeeded, from 0.")
    failure_count: Count | None = Field(default=None, description="Number of executions that failed, from 0.")
    success_rate: Share | None = Field(default=None, description="Share of executions that succeeded, from 0 to 1.")
    avg_latency_ms: Latency | None = Field(default=None, description="Mean duration in milliseconds.")
    last_used_at: Instant | None = Field(default=None, description="Instant of the last execution.")


class CompetencePayload(Payload):
    kind: Literal["competence"]
    skill_name: Name = Field(description="Name of the skill; its versions share it.")
    triggers: list[Trigger] = Field(description="When the skill applies.")
    recipe: list[RecipeStep] = Field(description="The steps, in order.")
    required_tools: list[str] | None = Field(
        default=None, description="Tools that it needs, beside those of its steps."
    )
    failure_modes: list[str] | None = Field(default=None, description="How it is known to fail.")
    fallbacks: list[str] | None = Field(default=None, description="What to do where it fails.")
    performance: Performance | None = Field(default=None, description="Statistics of its executions.")
    version: str | None = Field(default=None, description="Label of the version.")
    lesson: dict[str, Any] | None = Field(
        default=None, description="What was learned from a mistake; makes the skill a lesson."
    )
