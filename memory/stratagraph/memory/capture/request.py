"""The request of a capture, and its validation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.clock import as_utc, rfc3339
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import InvalidInput

MAX_CONTENT_BYTES = 1 << 20  # of content and context together, as JSON
MAX_TAGS = 64
MAX_LABEL = 256  # characters of a source, a scope, a tag, an idempotency key
MAX_SUMMARY = 10_000  # characters
MAX_BATCH = 1_000  # captures in one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The half-life, in seconds, and deletion policy of imported records, in place of the policy's default.

    A rule of the policy overrides it.
    """

    half_life_s: float
    deletion_policy: DeletionPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRequest:
    """A request to store one memory. The keys of `content` for each `source_kind` are listed in `schema.graphql`.

    `timestamp` is when it happened; None for the time of the capture. The policy sets `scope`, `sensitivity` and
    `retention` where they are None, and its rules may override them.
    """

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
        """Return the fields that two requests must share to count as the same; the idempotency key is none of them."""
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
    """Return the request with its time in UTC. Raises InvalidInput naming the field that cannot be stored."""
    _check_label(request.source, "source", required=True)
    _check_label(request.scope, "scope")
    _check_label(request.idempotency_key, "idempotencyKey")
    if len(request.tags) > MAX_TAGS:
        raise InvalidInput(f"tags: {len(request.tags)} tags; at most {MAX_TAGS} are allowed, send fewer", path=["tags"])
    for tag in request.tags:
        _check_label(tag, "tags", required=True)
    for text, name in ((request.summary, "summary"), (request.reason_to_remember, "reasonToRemember")):
        if text is not None:
            check_json(text, path=[name])
            if len(text) > MAX_SUMMARY:
                raise InvalidInput(
                    f"{name}: {len(text)} characters; at most {MAX_SUMMARY} are allowed, shorten it", path=[name]
                )
    for value, name in ((request.content, "content"), (request.context, "context")):
        if value is None and name == "context":
            continue
        if not isinstance(value, dict):
            raise InvalidInput(f"{name}: must be a JSON object, not {json_type(value)}", path=[name])
        check_json(value, path=[name])
    _check_size(request)
    if request.timestamp is None:
        return request
    return replace(request, timestamp=as_utc(request.timestamp, path=["timestamp"]))


def _check_size(request: CaptureRequest) -> None:
    try:
        size = len(orjson.dumps(request.content)) + len(orjson.dumps(request.context))
    except TypeError as error:  # an integer over 64 bits, which JSON allows but this store and most readers do not
        raise InvalidInput(
            f"content: cannot be stored: {error}; send such numbers as strings", path=["content"]
        ) from error
    if size > MAX_CONTENT_BYTES:
        raise InvalidInput(
            f"content: {size} bytes with its context; at most {MAX_CONTENT_BYTES} are allowed. Store the large part as"
            " an artifact and refer to it, or split the capture.",
            path=["content"],
        )


def _check_label(value: str | None, name: str, *, required: bool = False) -> None:
    if value is None:
        return
    check_json(value, path=[name])
    if required and not value.strip():
        raise InvalidInput(f"{name}: must not be empty; give 1 to {MAX_LABEL} characters", path=[name])
    if len(value) > MAX_LABEL:
        raise InvalidInput(f"{name}: {len(value)} characters; at most {MAX_LABEL} are allowed, shorten it", path=[name])
