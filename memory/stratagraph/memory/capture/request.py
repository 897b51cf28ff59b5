"""The request of a capture, and its validation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Self
from uuid import UUID

import orjson

from stratagraph.memory.requests.bounds import refuse_future
from stratagraph.memory.requests.evidence import check_evidence
from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.clock import as_utc, rfc3339
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.problems import Problems
from stratagraph.store.model.trust import LEARNED_BY
from stratagraph.store.model.visible_text import is_blank

MAX_CONTENT_BYTES = 1 << 20  # of content and context together, as JSON
SHORT = 4_000  # bytes of content and context below which a capture is read within a millisecond
MAX_TAGS = 64
MAX_LABEL = 256  # characters of a source, a scope, a tag, an idempotency key
MAX_SUMMARY = 10_000  # characters
MAX_BATCH = 1_000  # captures in one transaction
_WITH_EVIDENCE = (SourceKind.OBSERVATION, SourceKind.EPISODE, SourceKind.WORKING_STATE)  # `evidence` names sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """The half-life, in seconds, and deletion policy of imported records, in place of the policy's default.

    A rule of the policy overrides it.
    """

    half_life_s: float
    deletion_policy: DeletionPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedItem:
    """What an import says of the item that it captures, so that the item is recognised from any file, by any release.

    `fingerprint` identifies the item's content; requests with equal fingerprints count as the same. `refs` and
    `threads` are those by which the item may have been captured before: once the event of such a ref, or the episode of
    such a thread, was erased, the item is not captured again. `follows` and `followed_by` are the refs of the items
    before and after it, such as the parents of a commit. `replaces` are facts that the item was before it changed: the
    current ones among them are superseded by what it becomes now.
    """

    fingerprint: str
    follows: tuple[str, ...] = ()
    followed_by: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    replaces: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureRequest:
    """A request to store one memory. The keys of `content` for each `source_kind` are listed in `schema.graphql`.

    `timestamp` is when it happened; None for the time of the capture. `zone` is the offset from UTC at which it was
    given: what the content calls yesterday is a day of that zone. The policy sets `scope`, `sensitivity` and
    `retention` where they are None, and its rules may override them. `repeats` is a stored lesson that this one says in
    other words, as far as the service could tell when the request came; it is no part of what the caller gave.
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
    imported: ImportedItem | None = None
    repeats: UUID | None = None
    zone: timedelta = timedelta(0)

    @property
    def is_short(self) -> bool:
        """Whether content and context are small, or cannot be stored at all."""
        try:
            return len(orjson.dumps(self.content)) + len(orjson.dumps(self.context)) < SHORT
        except TypeError:
            return True

    def identity(self) -> dict[str, Any]:
        """Return what two requests with one idempotency key must share to count as the same."""
        return self.as_json() if self.imported is None else {"imported": self.imported.fingerprint}

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the request as JSON, without its idempotency key and what only imports give."""
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

    def as_stored_json(self) -> dict[str, Any]:
        """Return the request as JSON, from which `from_stored_json` makes it again, without what only imports give."""
        return self.as_json() | {"idempotency_key": self.idempotency_key, "zone_s": self.zone.total_seconds()}

    @classmethod
    def from_stored_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the request of `as_stored_json`. Raises KeyError, ValueError or InvalidInput if it is none."""
        proposed, sensitivity = stored["proposed_type"], stored["sensitivity"]
        timestamp = stored["timestamp"]
        return cls(
            source=stored["source"],
            source_kind=SourceKind(stored["source_kind"]),
            content=stored["content"],
            context=stored["context"],
            reason_to_remember=stored["reason_to_remember"],
            proposed_type=MemoryType.parse(proposed, path=["proposedType"]) if proposed is not None else None,
            summary=stored["summary"],
            tags=tuple(stored["tags"]),
            scope=stored["scope"],
            sensitivity=Sensitivity.parse(sensitivity, path=["sensitivity"]) if sensitivity is not None else None,
            timestamp=datetime.fromisoformat(timestamp) if timestamp is not None else None,
            idempotency_key=stored.get("idempotency_key"),
            zone=timedelta(seconds=stored.get("zone_s", 0)),
        )


def checked(request: CaptureRequest, now: datetime) -> CaptureRequest:
    """Return the request with its time in UTC; `now` is the time of the service's clock.

    Raises InvalidInput naming the fields that cannot be stored, EvidenceRequired for evidence that names no source.
    """
    problems = Problems()
    checked_request = check_fields(request, now, problems)
    problems.refuse()
    return checked_request


def check_fields(request: CaptureRequest, now: datetime, problems: Problems) -> CaptureRequest:
    """Return what `checked` returns, where `problems` stays empty; note all that is wrong there."""
    with problems:
        _check_label(request.source, "source", required=True)
    with problems:
        _check_label(request.scope, "scope")
    with problems:
        _check_label(request.idempotency_key, "idempotencyKey", required=True)
    with problems:
        _check_tags(request.tags)
    for text, name in ((request.summary, "summary"), (request.reason_to_remember, "reasonToRemember")):
        with problems:
            _check_text(text, name)
    for value, name in ((request.content, "content"), (request.context, "context")):
        with problems:
            _check_object(value, name)
    if not problems.concern("content", "context"):
        with problems:
            _check_size(request)
            if request.source_kind in _WITH_EVIDENCE and request.content.get("evidence") is not None:
                check_evidence(request.content["evidence"], now, path=["content", "evidence"])
    if request.timestamp is None:
        return request
    with problems:
        timestamp = as_utc(request.timestamp, path=["timestamp"])
        refuse_future(timestamp, now, path=["timestamp"])
        return replace(request, timestamp=timestamp, zone=request.zone or request.timestamp.utcoffset() or timedelta(0))
    return request


def refuse_learned_by(source: str) -> None:
    """Raise InvalidInput for a source by which learning tells its own statements from those of callers."""
    if source.startswith(LEARNED_BY):
        raise InvalidInput(
            f"source: must not begin with {LEARNED_BY}, which names what the service has learned; name the source of"
            " this capture",
            path=["source"],
        )


def _check_tags(tags: tuple[str, ...]) -> None:
    if len(tags) > MAX_TAGS:
        raise InvalidInput(f"tags: {len(tags)} tags; at most {MAX_TAGS} are allowed, send fewer", path=["tags"])
    for tag in tags:
        _check_label(tag, "tags", required=True)


def _check_text(text: str | None, name: str) -> None:
    if text is None:
        return
    check_json(text, path=[name])
    if len(text) > MAX_SUMMARY:
        raise InvalidInput(
            f"{name}: {len(text)} characters; at most {MAX_SUMMARY} are allowed, shorten it", path=[name]
        )


def _check_object(value: object, name: str) -> None:
    if value is None and name == "context":
        return
    if not isinstance(value, dict):
        raise InvalidInput(f"{name}: must be a JSON object, not {json_type(value)}", path=[name])
    check_json(value, path=[name])


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


def check_scope(scope: str) -> None:
    """Raise InvalidInput for a scope that no record can have."""
    _check_label(scope, "scope")


def _check_label(value: str | None, name: str, *, required: bool = False) -> None:
    if value is None:
        return
    check_json(value, path=[name])
    if required and is_blank(value):
        raise InvalidInput(f"{name}: must not be blank; give 1 to {MAX_LABEL} characters", path=[name])
    if len(value) > MAX_LABEL:
        raise InvalidInput(f"{name}: {len(value)} characters; at most {MAX_LABEL} are allowed, shorten it", path=[name])
