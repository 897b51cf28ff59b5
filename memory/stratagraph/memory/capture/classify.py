"""The type and the payload of a capture, by its source kind (docs/specification.md, Capture). No I/O.

Unknown keys of the content are kept: in the `content` of the timeline entry for an episodic record, as further keys of
the payload for any other.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.requests.bounds import refuse_future
from stratagraph.memory.requests.contents import CONTENTS, GIVEN_PAYLOADS, Handles, check_form
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, Outcome, SourceKind
from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.ids import parse_id
from stratagraph.store.model.payloads import parse_payload, parse_working_update

_OF_EPISODE = ("ref", "thread_id")  # keys of a whole episode that are none of its payload's
TURN_SUMMARY = 280  # characters of a turn's text that stand for its summary, where it has none
# Source kinds whose content is no payload, so that its form is all that is checked.
_CHECKED = (SourceKind.EVENT, SourceKind.TOOL_OUTPUT, SourceKind.AGENT_TURN, SourceKind.OUTCOME)


def classify(request: CaptureRequest, position: int, now: datetime) -> Draft:
    """Return a draft of the type that the source kind, or the proposed type, determines.

    `position` is the request's index in its batch; `now` is the time of a request without a timestamp. Raises
    InvalidInput for malformed content, an event ahead of `now`, or a type that the source kind does not allow.
    """
    occurred_at = request.timestamp or now
    proposed = request.proposed_type
    if request.source_kind in _CHECKED:
        check_form(CONTENTS[request.source_kind], request.content, path=["content"])
    if proposed in GIVEN_PAYLOADS and request.source_kind is SourceKind.OBSERVATION:
        assert proposed is not None
        return _given_payload(request, position, proposed, occurred_at)
    draft = _CLASSIFIERS[request.source_kind](request, position, occurred_at)
    if draft.is_whole_episode and draft.payload["timeline"]:  # in order of time
        last = datetime.fromisoformat(draft.payload["timeline"][-1]["t"])
        refuse_future(last, now, path=["content", "timeline"])
    if proposed is not None and proposed is not draft.type:
        raise InvalidInput(
            f"proposedType: a capture of sourceKind {request.source_kind.name} makes a record of type"
            f" {draft.type.label}, not {proposed.label}. Leave proposedType out. For an ENTITY, COMPETENCE or"
            " PLAN_GRAPH, send sourceKind OBSERVATION with the payload of such a record as its content.",
            path=["proposedType"],
        )
    return draft


def _given_payload(request: CaptureRequest, position: int, memory_type: MemoryType, occurred_at: datetime) -> Draft:
    """Return a draft whose content is itself a payload of the proposed type."""
    payload = parse_payload(memory_type, request.content, path=["content"])
    handle = {
        MemoryType.COMPETENCE: payload.get("skill_name"),
        MemoryType.PLAN_GRAPH: payload.get("plan_id"),
    }.get(memory_type)
    return Draft(
        request=request, position=position, type=memory_type, payload=payload, occurred_at=occurred_at, handle=handle
    )


def _event(request: CaptureRequest, position: int, occurred_at: datetime) -> Draft:
    content = request.content
    kind = content.get("event_kind", "event")
    summary = content.get("summary") or request.summary or content.get("text")
    return _episodic(request, position, occurred_at, event_kind=kind, summary=summary, known=("event_kind", "ref"))


def _agent_turn(request: CaptureRequest, position: int, occurred_at: datetime) -> Draft:
    text = request.content["text"]
    return _episodic(
        request,
        position,
        occurred_at,
        event_kind="agent_turn",
        summary=request.summary or text[:TURN_SUMMARY],
        known=("ref",),
    )


def _tool_output(request: CaptureRequest, position: int, occurred_at: datetime) -> Draft:
    content = request.content
    tool = content["tool_name"]
    call = content.get("call_id")
    depends_on = content.get("depends_on") or []
    if call is not None and call in depends_on:
        raise InvalidInput(
            f"content.depends_on: the call {shown(call)} depends on itself; remove it from the list",
            path=["content", "depends_on"],
        )
    failed = bool(content.get("error", False))
    draft = _episodic(
        request,
        position,
        occurred_at,
        event_kind="tool_error" if failed else "tool_output",
        summary=request.summary or f"{tool} {'failed' if failed else 'returned'}",
        known=("tool_name", "args", "result", "call_id", "depends_on", "ref"),
    )
    node: dict[str, Any] = {
        "id": call or str(draft.id),
        "tool": tool,
        # A call that returned null differs from one whose result is unknown.
        **{key: content[key] for key in ("args", "result") if key in content},
        "timestamp": rfc3339(occurred_at),
    }
    if depends_on:
        node["depends_on"] = depends_on
    draft.payload["tool_graph"] = [node]
    draft.call, draft.depends_on = call, tuple(dict.fromkeys(depends_on))
    return draft


def _episodic(
    request: CaptureRequest,
    position: int,
    occurred_at: datetime,
    *,
    event_kind: str,
    summary: Any,
    known: tuple[str, ...],
) -> Draft:
    content = request.content
    ref = content.get("ref") or ""
    event: dict[str, Any] = {"t": rfc3339(occurred_at), "event_kind": event_kind, "ref": ref}
    if isinstance(summary, str) and summary:
        event["summary"] = summary
    rest = {key: value for key, value in content.items() if key not in known and key != "thread_id"}
    if rest.get("summary") == event.get("summary"):
        rest.pop("summary", None)
    if rest:
        event["content"] = rest
    return Draft(
        request=request,
        position=position,
        type=MemoryType.EPISODIC,
        payload={"kind": "episodic", "timeline": [event]},
        occurred_at=occurred_at,
        thread=content.get("thread_id"),
        handle=ref or None,
    )


def _episode(request: CaptureRequest, position: int, occurred_at: datetime) -> Draft:
    """Return a draft of a whole episode. It is closed, and its events have no records of their own."""
    content = {key: value for key, value in request.content.items() if key not in _OF_EPISODE}
    check_form(Handles, {key: request.content.get(key) for key in _OF_EPISODE}, path=["content"])
    ref, thread = (request.content.get(key) for key in _OF_EPISODE)
    content.setdefault("timeline", [])
    payload = parse_payload(MemoryType.EPISODIC, content, path=["content"])
    if not payload["timeline"] and not payload.get("tool_graph"):
        raise InvalidInput(
            "content.timeline: an episode needs at least one event here, or one tool call in content.tool_graph",
            path=["content", "timeline"],
        )
    if thread is not None:
        payload["thread_id"] = thread
    started = payload["timeline"][0]["t"] if payload["timeline"] else None
    outcome = payload.get("outcome")
    return Draft(
        request=request,
        position=position,
        type=MemoryType.EPISODIC,
        payload=payload,
        occurred_at=request.timestamp or (datetime.fromisoformat(started) if started else occurred_at),
        thread=thread,
        is_whole_episode=True,
        outcome=Outcome[outcome.upper()] if outcome else None,
        handle=ref or None,
    )


def _observation(request: CaptureRequest, position: int, occurred_at: datetime) -> Draft:
    content = dict(request.content)
    conditions = content.pop("conditions", None)
    if conditions is not None and not isinstance(conditions, dict):
        raise InvalidInput(
            f"content.conditions: must be a JSON object, not {json_type(conditions)}", path=["content", "conditions"]
        )
    if content.get("validity") is None:
        content["validity"] = {"mode": "conditional", "conditions": conditions} if conditions else {"mode": "global"}
    elif conditions:
        if not isinstance(content["validity"], dict):
            raise InvalidInput(
                f"content.validity: must be a JSON object, not {json_type(content['validity'])}",
                path=["content", "validity"],
            )
        within = content["validity"].get("conditions")
        if within is not None and not isinstance(within, dict):
            raise InvalidInput(
                f"content.validity.conditions: must be a JSON object, not {json_type(within)}",
                path=["content", "validity", "conditions"],
            )
        content["validity"] = {**content["validity"], "conditions": conditions}
    payload = parse_payload(MemoryType.SEMANTIC, content, path=["content"])
    payload.pop("revision", None)  # derived from the record's state, so a caller's value is dropped
    return Draft(request=request, position=position, type=MemoryType.SEMANTIC, payload=payload, occurred_at=occurred_at)


def _working_state(request: CaptureRequest, position: int, occurred_at: datetime) -> Draft:
    """Return a draft with the fields that are set. Those left out stay as they are; a null clears one."""
    payload = parse_working_update(request.content, path=["content"])
    cleared = tuple(key for key, value in request.content.items() if value is None)
    if "state" in cleared:
        raise InvalidInput(
            "content.state: cannot be cleared; give a state, or leave it out to keep the present one",
            path=["content", "state"],
        )
    return Draft(
        request=request,
        position=position,
        type=MemoryType.WORKING,
        payload=payload,
        occurred_at=occurred_at,
        handle=payload["thread_id"],
        cleared=cleared,
    )


def _outcome(request: CaptureRequest, position: int, occurred_at: datetime) -> Draft:
    content = request.content
    thread, record = content.get("thread_id"), content.get("record_id")
    if (thread is None) == (record is None):
        raise InvalidInput(
            "content: an outcome must name the episode that it closes by either thread_id or record_id, not"
            f" {'both' if record is not None else 'neither'}",
            path=["content"],
        )
    return Draft(
        request=request,
        position=position,
        type=MemoryType.EPISODIC,
        payload={},
        occurred_at=occurred_at,
        thread=thread,
        outcome=Outcome[content["outcome_status"].upper()],
        outcome_reason=content.get("reason") or request.summary or None,
        outcome_of=parse_id(str(record), path=["content", "record_id"]) if record is not None else None,
    )


def is_outcome(draft: Draft) -> bool:
    """Return whether the capture sets the outcome of an episode and creates no record."""
    return draft.request.source_kind is SourceKind.OUTCOME


_CLASSIFIERS: dict[SourceKind, Callable[[CaptureRequest, int, datetime], Draft]] = {
    SourceKind.EVENT: _event,
    SourceKind.TOOL_OUTPUT: _tool_output,
    SourceKind.OBSERVATION: _observation,
    SourceKind.OUTCOME: _outcome,
    SourceKind.WORKING_STATE: _working_state,
    SourceKind.AGENT_TURN: _agent_turn,
    SourceKind.EPISODE: _episode,
}
