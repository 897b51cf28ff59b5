"""Drafts of records that replace another record or are variants of it, with its trust and its lifecycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from stratagraph.memory.capture.caption import caption
from stratagraph.memory.capture.classify import classify
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.interpret import interpret
from stratagraph.memory.capture.request import CaptureRequest, checked
from stratagraph.memory.capture.secrets import hide_secrets, keep_content
from stratagraph.memory.capture.versions import next_version
from stratagraph.memory.lessons.merging import revised_marks
from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import EvidenceRequired, InvalidInput, StratagraphError
from stratagraph.store.model.records import MemoryRecord

_HANDLES = {MemoryType.COMPETENCE: "skill_name", MemoryType.PLAN_GRAPH: "plan_id"}


def successor(
    old: MemoryRecord,
    payload: Mapping[str, Any],
    evidence: Sequence[Mapping[str, Any]],
    *,
    caller: Caller,
    rationale: str,
    now: datetime,
    seals_from: Sensitivity | None,
) -> Draft:
    """Return a draft with `payload`, and with the scope, sensitivity, confidence and lifecycle of `old`.

    A revision never lifts a record: secrets in the payload are masked unless `old` is sealed, as records from the
    sensitivity `seals_from` are.
    Raises InvalidInput with paths that begin at `payload`, and EvidenceRequired for a fact without a source.
    """
    content = {key: value for key, value in payload.items() if key not in ("kind", "revision")}
    if old.type is MemoryType.SEMANTIC:
        own = content.get("evidence") or []
        if not isinstance(own, list):
            raise InvalidInput(
                f"payload.evidence: must be a list of sources such as {{kind, ref}}, not {json_type(own)}",
                path=["payload", "evidence"],
            )
        content["evidence"] = [*own, *evidence]
        if not content["evidence"]:
            raise EvidenceRequired(
                "evidence: a new fact needs a source; give {source_type, source_id} or {kind, ref}", path=["evidence"]
            )
        if (old.payload or {}).get("revision_policy") and "revision_policy" not in content:
            content["revision_policy"] = (old.payload or {})["revision_policy"]
    elif old.type in _HANDLES:
        content = _next_version(old, content)
        if old.type is MemoryType.COMPETENCE:
            content = revised_marks(old.payload or {}, content)
    request = CaptureRequest(
        source=caller.trust.actor,
        source_kind=SourceKind.WORKING_STATE if old.type is MemoryType.WORKING else SourceKind.OBSERVATION,
        content=content,
        proposed_type=None if old.type in (MemoryType.SEMANTIC, MemoryType.WORKING) else old.type,
        reason_to_remember=rationale,
        tags=old.tags,
        scope=old.scope,
        sensitivity=old.sensitivity,
    )
    try:
        draft = classify(checked(request, now), 0, now)
        hidden = hide_secrets(draft, caller.tenant)
    except StratagraphError as error:
        raise _about_payload(error) from error
    inherit(draft, old)
    draft.evidence = tuple(dict(item) for item in evidence)
    caption(draft)
    interpret(draft)
    keep_content(draft, hidden, level=seals_from, ceiling=old.sensitivity)
    return draft


def inherit(draft: Draft, old: MemoryRecord) -> None:
    """Copy scope, sensitivity, confidence and lifecycle from the revised record; a revision cannot change them."""
    draft.scope, draft.sensitivity, draft.confidence = old.scope, old.sensitivity, old.confidence
    if old.lifecycle is not None:
        draft.decay, draft.deletion_policy = old.lifecycle.decay, old.lifecycle.deletion_policy


def _next_version(old: MemoryRecord, content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a new version of the same skill or plan, with the next version unless it names one."""
    known = old.payload or {}
    handle = _HANDLES[old.type]
    if content.setdefault(handle, known[handle]) != known[handle]:
        raise InvalidInput(
            f"payload.{handle}: a new version must keep the {handle} {shown(known[handle])}; for another one,"
            " capture a new record",
            path=["payload", handle],
        )
    version = str(known.get("version") or "1")
    if content.get("version", version) == version:
        content["version"] = next_version(version)
    return content


def _of_payload(said: str) -> str:
    return said.replace("content.", "payload.").replace("content:", "payload:")


def _about_payload(error: StratagraphError) -> StratagraphError:
    """Return the error of a capture with `payload` in place of `content`, as a revision calls it."""
    if error.path and error.path[0] == "content":
        error.move(lambda path: ["payload", *path[1:]] if path[:1] == ["content"] else path, _of_payload)
    return error
