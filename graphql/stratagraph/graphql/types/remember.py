"""Captures with typed content: their input, and the names of its fields in errors and warnings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

import strawberry

from stratagraph.graphql.flat_inputs import nested_input
from stratagraph.graphql.part_types import content_of, json_path
from stratagraph.graphql.types.enums import Sensitivity
from stratagraph.graphql.types.typed_inputs import KINDS, ContextInput, MemoryInput
from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import MAX_BATCH, MAX_LABEL, MAX_SUMMARY, MAX_TAGS, CaptureRequest
from stratagraph.memory.requests.contents import GIVEN_PAYLOADS
from stratagraph.memory.requests.warnings import RequestWarning, replaced_path
from stratagraph.store.model.errors import InvalidInput, StratagraphError
from stratagraph.store.model.payloads.semantic import NOTE, NOTES
from stratagraph.store.model.visible_text import is_blank

Rename = Callable[[list[str]], list[str]]
_PLACE = re.compile(r"(?<![\w.])(?:content|context|payload|evidence)(?:\.[\w-]+)*(?=[:,;.\s])")


@nested_input
@strawberry.input(description="Something to remember, with typed content; `captureMemory` takes it as JSON.")
class RememberInput:
    source: str = strawberry.field(
        description=f"Agent, tool or program that reports the content, 1 to {MAX_LABEL} characters."
    )
    memory: MemoryInput = strawberry.field(description="The content, by its kind.")
    context: ContextInput | None = strawberry.field(default=None, description="What the content names and refers to.")
    reason_to_remember: str | None = strawberry.field(
        default=None, description=f"Reason, at most {MAX_SUMMARY:,} characters; kept in the audit log."
    )
    summary: str | None = strawberry.field(
        default=None,
        description=f"Summary, at most {MAX_SUMMARY:,} characters. Becomes the record's name; in a search its words"
        " weigh more than those of the content.",
    )
    tags: list[str] | None = strawberry.field(
        default=None, description=f"At most {MAX_TAGS} labels of 1 to {MAX_LABEL} characters each."
    )
    scope: str | None = strawberry.field(
        default=None,
        description=f"Scope of the record, at most {MAX_LABEL} characters. Default: the credential's only scope, or"
        " unscoped for a credential of all scopes.",
    )
    sensitivity: Sensitivity | None = strawberry.field(
        default=None, description="Sensitivity of the record. Default: LOW, or the credential's ceiling if lower."
    )
    timestamp: datetime | None = strawberry.field(
        default=None, description="Instant at which the content happened. Default: now."
    )
    idempotency_key: str | None = strawberry.field(
        default=None,
        description=f"Key of at most {MAX_LABEL} characters. A repeated request with the same key writes nothing and"
        " returns the result of the first.",
    )

    def as_request(self) -> CaptureRequest:
        """Return the request that the same capture with JSON makes."""
        field, given = self._chosen()
        type_, source_kind, memory_type = KINDS[field]
        context = cast(Mapping[str, Any] | None, self.context)
        with _within(["memory", field]):
            content = content_of(type_, given)
            if field == "note":
                if is_blank(given["text"]):
                    raise InvalidInput("text: is blank; give what to remember", path=["text"])
                content = {"subject": NOTES, "predicate": NOTE, **content}
        return CaptureRequest(
            source=self.source,
            source_kind=source_kind,
            content=content,
            context=content_of(ContextInput, context) if context is not None else None,
            reason_to_remember=self.reason_to_remember,
            proposed_type=memory_type if memory_type in GIVEN_PAYLOADS else None,
            summary=self.summary,
            tags=tuple(self.tags or ()),
            scope=self.scope,
            sensitivity=self.sensitivity,
            timestamp=self.timestamp,
            idempotency_key=self.idempotency_key,
        )

    def renamed(self, path: list[str]) -> list[str]:
        """Return the path in this input of a path in the request that it makes."""
        field, _ = self._chosen()
        match path:
            case ["content", *rest]:
                return ["memory", field, *json_path(KINDS[field][0], rest)]
            case ["context", *rest]:
                return ["context", *json_path(ContextInput, rest)]
            case ["proposedType", *_]:
                return ["memory", field]
        return path

    def _chosen(self) -> tuple[str, Mapping[str, Any]]:
        """Return the field of `memory` that is given, and its value, as graphql-core gives them."""
        ((field, given),) = cast(Mapping[str, Any], self.memory).items()
        return field, given


@strawberry.input(description="Several things to remember, stored in one transaction: all of them or none.")
class RememberAllInput:
    items: list[RememberInput] = strawberry.field(
        description=f"The things to remember, 1 to {MAX_BATCH:,}, processed in this order."
    )

    def as_requests(self) -> list[CaptureRequest]:
        requests = []
        for position, item in enumerate(self.items):
            with _within(["items", str(position)]):
                requests.append(item.as_request())
        return requests

    def renamed(self, path: list[str]) -> list[str]:
        """Return the path in this input of a path in the batch that it makes."""
        match path:
            case ["items", place, *rest] if place.isdigit() and int(place) < len(self.items):
                return ["items", place, *self.items[int(place)].renamed(rest)]
        return path


@contextmanager
def _within(place: list[str]) -> Iterator[None]:
    """Let an error about a part of the input name the place of the part."""
    try:
        yield
    except InvalidInput as error:
        path = [*place, *(error.path or ())]
        raise InvalidInput(f"{'.'.join(place)}.{error.message}", path=path) from error


@contextmanager
def renamed_errors(rename: Rename) -> Iterator[None]:
    """Let errors name the fields of a typed input in place of those of the request that it makes."""
    try:
        yield
    except StratagraphError as error:
        item = error.path[:2] if error.path and error.path[0] == "items" else []

        def spelled(found: re.Match[str]) -> str:
            return ".".join(rename([*item, *found[0].split(".")])[len(item) :])

        error.move(rename, lambda said: _PLACE.sub(spelled, said))
        raise


def renamed_warnings(captured: Captured, rename: Rename) -> Captured:
    """Return the answer with warnings that name the fields of a typed input."""
    return replace(captured, warnings=tuple(renamed_warning(one, rename) for one in captured.warnings))


def renamed_warning(one: RequestWarning, rename: Rename) -> RequestWarning:
    """Return a warning that names the field of a typed input."""
    return replaced_path(one, rename(list(one.path)))
