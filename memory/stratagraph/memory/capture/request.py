"""What a caller hands in, checked before anything else looks at it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.clock import as_utc, rfc3339
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput

MAX_CONTENT_BYTES = 1 << 20  # of content and context together, as JSON
MAX_TAGS = 64
MAX_LABEL = 256  # letters of a source, a scope, a tag, an idempotency key
MAX_SUMMARY = 10_000  # letters
MAX_BATCH = 1_000  # captures in one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long an import keeps what it brings, instead of the policy's lifecycle."""

    half_life_s: float
    deletion_policy: DeletionPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRequest:
    """One thing to remember. `content` has the keys that the schema lists for its `source_kind`."""

    source: str
    source_kind: SourceKind
    content: dict[str, Any]
    context: dict[str, Any] | None = None
    reason_to_remember: str | None = None
    proposed_type: MemoryType | None = None
    summary: str | None = None
    tags: tuple[str, ...] = ()
    scope: str | None = None
    sensitivity: Sensitivity | None = None
    timestamp: datetime | None = None
    idempotency_key: str | None = None
    retention: Retention | None = None

    def as_json(self) -> dict[str, Any]:
        """Everything that makes two requests the same, the idempotency key apart."""
        return {
            "source": self.source,
            "source_kind": self.source_kind.value,
            "content": self.content,
            "context": self.context,
            "reason_to_remember": self.reason_to_remember,
            "proposed_type": self.proposed_type.label if self.proposed_type else None,
            "summary": self.summary,
            "tags": list(self.tags),
            "scope": self.scope,
            "sensitivity": self.sensitivity.label if self.sensitivity is not None else None,
            "timestamp": rfc3339(self.timestamp) if self.timestamp else None,
        }


def checked(request: CaptureRequest) -> CaptureRequest:
    """The request with its time in UTC. Raises InvalidInput naming the field that cannot be stored."""
    _check_label(request.source, "source", required=True)
    _check_label(request.scope, "scope")
    _check_label(request.idempotency_key, "idempotencyKey")
    if len(request.tags) > MAX_TAGS:
        raise InvalidInput(f"tags: {len(request.tags)} tags; at most {MAX_TAGS} are kept", path=["tags"])
    for tag in request.tags:
        _check_label(tag, "tags", required=True)
    for text, name in ((request.summary, "summary"), (request.reason_to_remember, "reasonToRemember")):
        if text is not None:
            check_json(text, path=[name])
            if len(text) > MAX_SUMMARY:
                raise InvalidInput(f"{name}: {len(text)} letters; at most {MAX_SUMMARY} are kept", path=[name])
    for value, name in ((request.content, "content"), (request.context, "context")):
        if value is None and name == "context":
            continue
        if not isinstance(value, dict):
            raise InvalidInput(f"{name}: must be a JSON object, not {type(value).__name__}", path=[name])
        check_json(value, path=[name])
    _check_size(request)
    if request.timestamp is None:
        return request
    return replace(request, timestamp=as_utc(request.timestamp, path=["timestamp"]))


def _check_size(request: CaptureRequest) -> None:
    try:
        size = len(orjson.dumps(request.content)) + len(orjson.dumps(request.context))
    except TypeError as error:  # an integer beyond 64 bits is JSON, but neither of ours nor of most readers'
        raise InvalidInput(
            f"content: cannot be stored: {error}; send such numbers as strings", path=["content"]
        ) from error
    if size > MAX_CONTENT_BYTES:
        raise InvalidInput(
            f"content: {size} bytes with its context; at most {MAX_CONTENT_BYTES} are kept. Store the large part as"
            " an artifact and refer to it, or capture it in pieces.",
            path=["content"],
        )


def _check_label(value: str | None, name: str, *, required: bool = False) -> None:
    if value is None:
        return
    check_json(value, path=[name])
    if required and not value.strip():
        raise InvalidInput(f"{name}: must not be empty", path=[name])
    if len(value) > MAX_LABEL:
        raise InvalidInput(f"{name}: {len(value)} letters; at most {MAX_LABEL} are kept", path=[name])
