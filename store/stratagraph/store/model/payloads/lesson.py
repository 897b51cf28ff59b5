"""The fields of a lesson, which is a block of a competence payload. Readers of it take any value for absent."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from stratagraph.store.model.payloads.base import Part


class LessonBlock(Part):
    """What was learned from a mistake."""

    schema_version: Any = Field(default=None, description="Version of this schema, 2.")
    timestamp: Any = Field(default=None, description="Instant at which it was learned.")
    task: Any = Field(default=None, description="What was to be done.")
    trigger: Any = Field(default=None, description="When the lesson applies.")
    mistake: Any = Field(default=None, description="What went wrong.")
    anti_pattern: Any = Field(default=None, description="What to avoid in general.")
    solution: Any = Field(default=None, description="What to do.")
    correct_pattern: Any = Field(default=None, description="What to do in general.")
    code_example: Any = Field(default=None, description="Code that shows it.")
    domains: Any = Field(default=None, description="Fields that it belongs to.")
    confidence: Any = Field(default=None, description="How sure it is, from 0 to 1.")
    source_challenge_hash: Any = Field(default=None, description="Hash of the challenge that taught it.")
    verified: Any = Field(default=None, description="Whether its advice was verified.")
    verification_attempted: Any = Field(default=None, description="Whether that was tried.")
    retrievals: Any = Field(default=None, description="Number of times that it was returned, from 0.")
    helpful_retrievals: Any = Field(default=None, description="Number of times that it helped, from 0.")
    last_retrieved_at: Any = Field(default=None, description="Instant at which it was last returned.")
    source: Any = Field(default=None, description="Where it comes from, such as self_play.")
    frequency: Any = Field(default=None, description="Number of times that it was learned, from 0.")
    graduated: Any = Field(default=None, description="Whether it needs no more practice.")
