"""Competence payloads: triggers, a recipe and its success so far. A lesson is a competence with a `lesson` block."""

from __future__ import annotations

from typing import Any, Literal

from stratagraph.store.model.payloads.base import Count, Instant, Latency, Name, Part, Payload, Share


class Trigger(Part):
    signal: Name
    conditions: dict[str, Any] | None = None


class RecipeStep(Part):
    step: Name
    tool: str | None = None
    args_schema: dict[str, Any] | None = None
    validation: str | None = None


class Performance(Part):
    success_count: Count | None = None
    failure_count: Count | None = None
    success_rate: Share | None = None
    avg_latency_ms: Latency | None = None
    last_used_at: Instant | None = None


class CompetencePayload(Payload):
    kind: Literal["competence"]
    skill_name: Name
    triggers: list[Trigger]
    recipe: list[RecipeStep]
    required_tools: list[str] | None = None
    failure_modes: list[str] | None = None
    fallbacks: list[str] | None = None
    performance: Performance | None = None
    version: str | None = None
    lesson: dict[str, Any] | None = None
