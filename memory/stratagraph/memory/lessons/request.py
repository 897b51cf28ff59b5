"""What a caller gives to learn a lesson, and the capture that it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.lessons.block import SCHEMA_VERSION
from stratagraph.memory.requests.bounds import check_between
from stratagraph.memory.requests.warnings import camel_case
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.problems import Problems

MAX_TASK = 1_900  # characters; the skill's name has at most 2,000
MAX_TEXT = 2_000  # characters of each other text but the code
MAX_CODE = 10_000  # characters
MAX_DOMAINS = 32
MAX_DOMAIN = 256  # characters
CONFIDENCE = 0.7  # where the caller gives none
SOURCE = "lesson"  # where the caller gives none
_TEXTS = ("trigger", "mistake", "anti_pattern", "correct_pattern")


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnLesson:
    """A lesson to learn: what the task was, what went wrong, and what to do instead.

    `trigger` has the words of a question by which the lesson is found; without it, those of the task are. `confidence`
    is in [0, 1]. `source` says where the lesson comes from, such as `self_play`. `timestamp` is when it was learned;
    None for now.
    """

    task: str
    solution: str
    mistake: str = ""
    trigger: str = ""
    anti_pattern: str = ""
    correct_pattern: str = ""
    code_example: str = ""
    domains: tuple[str, ...] = ()
    confidence: float = CONFIDENCE
    source_challenge_hash: str = ""
    verified: bool = False
    source: str = SOURCE
    conditions: dict[str, Any] | None = None
    scope: str | None = None
    sensitivity: Sensitivity | None = None
    tags: tuple[str, ...] = ()
    timestamp: datetime | None = None
    idempotency_key: str | None = None

    def as_capture(self, *, repeats: UUID | None = None) -> CaptureRequest:
        """Return the capture of the lesson; `repeats` is a stored lesson that says the same in other words.

        Its content depends on the request alone, so that it can be repeated with its idempotency key.
        """
        lesson: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "task": self.task,
            "trigger": self.trigger,
            "mistake": self.mistake,
            "anti_pattern": self.anti_pattern,
            "solution": self.solution,
            "correct_pattern": self.correct_pattern,
            "code_example": self.code_example,
            "domains": sorted(set(self.domains)),
            "confidence": self.confidence,
            "source_challenge_hash": self.source_challenge_hash,
            "verified": self.verified,
            "verification_attempted": self.verified,
            "retrievals": 0,
            "helpful_retrievals": 0,
            "last_retrieved_at": None,
            "source": self.source,
            "frequency": 1,
            "graduated": False,
        }
        if self.timestamp is not None:
            lesson["timestamp"] = rfc3339(self.timestamp)
        trigger: dict[str, Any] = {"signal": self.trigger.strip() or self.task}
        if self.conditions:
            trigger["conditions"] = self.conditions
        content: dict[str, Any] = {
            "kind": "competence",
            "skill_name": f"lesson: {self.task}",
            "triggers": [trigger],
            "recipe": [{"step": self.correct_pattern.strip() or self.solution}],
            "lesson": lesson,
        }
        if failure := self.anti_pattern.strip() or self.mistake.strip():
            content["failure_modes"] = [failure]
        return CaptureRequest(
            source=self.source,
            source_kind=SourceKind.OBSERVATION,
            content=content,
            proposed_type=MemoryType.COMPETENCE,
            scope=self.scope,
            sensitivity=self.sensitivity,
            tags=self.tags,
            timestamp=self.timestamp,
            idempotency_key=self.idempotency_key,
            repeats=repeats,
        )


def check(request: LearnLesson) -> None:
    """Raise InvalidInput naming all fields that are out of bounds, and their bounds."""
    problems = Problems()
    with problems:
        _check_text("task", request.task, MAX_TASK, is_required=True)
    with problems:
        _check_text("solution", request.solution, MAX_TEXT, is_required=True)
    for name in _TEXTS:
        with problems:
            _check_text(camel_case(name), getattr(request, name), MAX_TEXT)
    with problems:
        _check_text("codeExample", request.code_example, MAX_CODE)
    with problems:
        _check_text("sourceChallengeHash", request.source_challenge_hash, MAX_DOMAIN)
    with problems:
        _check_domains(request.domains)
    with problems:
        check_between("confidence", request.confidence, 0, 1)
    problems.refuse()


def _check_text(field: str, text: str, most: int, *, is_required: bool = False) -> None:
    if is_required and not text.strip():
        raise InvalidInput(f"{field}: must not be blank; say it in a sentence", path=[field])
    if len(text) > most:
        raise InvalidInput(f"{field}: {len(text)} characters; at most {most:,} are allowed, shorten it", path=[field])


def _check_domains(domains: Sequence[str]) -> None:
    if len(domains) > MAX_DOMAINS:
        raise InvalidInput(f"domains: {len(domains)} entries; at most {MAX_DOMAINS} are allowed", path=["domains"])
    for position, domain in enumerate(domains):
        if not domain.strip() or len(domain) > MAX_DOMAIN:
            raise InvalidInput(
                f"domains.{position}: must have 1 to {MAX_DOMAIN} characters, and not be blank",
                path=["domains", str(position)],
            )
