"""The name and the text of a record, shown to people and searched by words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.episodes import because
from stratagraph.memory.lessons.block import lesson_of, said
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.payloads.plan_graph import COMPOSED_PLAN, LEARNED_PLAN
from stratagraph.store.model.payloads.semantic import NOTE, NOTES
from stratagraph.store.model.records import MemoryRecord

NAME_LENGTH = 80  # characters


def caption(draft: Draft) -> None:
    """Set the draft's `name` and `text`, made from its payload, its content and its summary."""
    name, text = _WRITERS[draft.type](draft)
    summary = draft.request.summary
    if summary and summary not in text:
        text = f"{summary}\n{text}"
    draft.name, draft.text, draft.terms = shortened(summary or name), text, None


def whole_text(record: MemoryRecord) -> str:
    """Return the text of an event with the results of its tools, which earlier releases cut in the text."""
    text, calls = record.text or "", (record.payload or {}).get("tool_graph") or ()
    results = [_inline(call.get("result")) for call in calls]
    return "\n".join([text, *(result for result in results if result not in text)])


def shortened(text: str) -> str:
    """Return the text on one line of at most NAME_LENGTH characters; a longer one is cut and ends in an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= NAME_LENGTH else line[: NAME_LENGTH - 1].rstrip() + "…"


def _episodic(draft: Draft) -> tuple[str, str]:
    content = draft.request.content
    match draft.request.source_kind:
        case SourceKind.AGENT_TURN:
            said = f"{content.get('speaker') or content['role']}: {content['text']}"
            return said, said
        case SourceKind.TOOL_OUTPUT:
            return _call(content["tool_name"], content), _answered(content["tool_name"], content)
        case SourceKind.EPISODE:
            lines = [_line(event) for event in draft.payload["timeline"]]
            calls = draft.payload.get("tool_graph") or ()
            lines += [_answered(call["tool"], call) for call in calls if "args" in call or "result" in call]
            if draft.called_tools:
                lines.append("Tools used: " + ", ".join(dict.fromkeys(draft.called_tools)))
            if draft.payload.get("outcome_reason"):
                lines.append(because(draft.outcome, draft.payload["outcome_reason"]))
            return lines[0] if lines else "Episode", "\n".join(lines)
        case _:
            event = draft.payload["timeline"][0]
            return event.get("summary") or f"{event['event_kind']} {event['ref']}".strip(), _line(event)


def _call(tool: str, content: Mapping[str, Any]) -> str:
    return f"{tool}({_inline(content.get('args'))})"


def _answered(tool: str, content: Mapping[str, Any]) -> str:
    return f"{_call(tool, content)} → {_result(content)}"


def _result(content: Mapping[str, Any]) -> str:
    """Return the result of a tool call and, if it failed, its error."""
    result, error = _inline(content.get("result")), content.get("error")
    if not error:
        return result
    failure = "failed" if error is True else f"failed: {_inline(error)}"
    return f"{result}; {failure}" if result else failure


def _line(event: dict[str, Any]) -> str:
    said = event.get("summary") or event["event_kind"]
    more = event.get("content")
    return f"{said}\n{_prose(more)}" if more else said


def _semantic(draft: Draft) -> tuple[str, str]:
    payload = draft.payload
    said = fact_sentence(payload)
    validity = payload["validity"]
    parts = []
    if validity.get("conditions"):
        parts.append(f"when {_prose(validity['conditions'])}")
    if validity.get("start"):
        parts.append(f"from {validity['start']}")
    if validity.get("end"):
        parts.append(f"until {validity['end']}")
    return said, " ".join([said, *parts])


def fact_sentence(payload: Mapping[str, Any]) -> str:
    """Return a fact as a sentence, without its validity. A note is a sentence already."""
    subject, predicate, value = payload["subject"], payload["predicate"], _inline(payload["object"])
    if predicate != NOTE:
        return f"{subject} {predicate.replace('_', ' ')} {value}"
    return value if subject == NOTES else f"{subject}: {value}"


def _working(draft: Draft) -> tuple[str, str]:
    payload = draft.payload
    state = payload.get("state")  # absent from an update that leaves it as it is, until it is merged
    name = f"Task {payload['thread_id']}: {state}" if state else f"Task {payload['thread_id']}"
    lines = [name, payload.get("context_summary") or ""]
    lines += [f"next: {action}" for action in payload.get("next_actions") or ()]
    lines += [f"open: {question}" for question in payload.get("open_questions") or ()]
    lines += [
        f"must keep {item['key']} = {_inline(item.get('value'))}" for item in payload.get("active_constraints") or ()
    ]
    return payload.get("context_summary") or name, "\n".join(line for line in lines if line)


def _entity(draft: Draft) -> tuple[str, str]:
    return entity_caption(draft.payload)


def entity_caption(payload: dict[str, Any]) -> tuple[str, str]:
    """Return the name and the text of an entity with this payload."""
    name = payload["canonical_name"]
    kind = payload.get("primary_type")
    aliases = ", ".join(alias["value"] for alias in payload.get("aliases") or ())
    text = f"{name} ({kind})" if kind else name
    if aliases:
        text += f", also {aliases}"
    if payload.get("summary"):
        text += f". {payload['summary']}"
    return name, text


def _competence(draft: Draft) -> tuple[str, str]:
    lesson = lesson_of(draft.payload)
    if lesson is not None and said(lesson, "task"):
        return _lesson(lesson)
    return skill_caption(draft.payload)


def skill_caption(payload: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name and the text of a skill with this payload."""
    lines = [f"How to {payload['skill_name']}"]
    lines += [f"when {trigger['signal']}" for trigger in payload["triggers"]]
    lines += [f"{number}. {step['step']}" for number, step in enumerate(payload["recipe"], 1)]
    lines += [f"may fail: {mode}" for mode in payload.get("failure_modes") or ()]
    return payload["skill_name"], "\n".join(lines)


def _lesson(lesson: Mapping[str, Any]) -> tuple[str, str]:
    lines = [f"Lesson: {said(lesson, 'task')}"]
    lines += [
        f"{label}{text}"
        for label, name in (
            ("when ", "trigger"),
            ("mistake: ", "mistake"),
            ("avoid: ", "anti_pattern"),
            ("do: ", "correct_pattern"),
            ("solution: ", "solution"),
            ("example: ", "code_example"),
        )
        if (text := said(lesson, name))
    ]
    domains = lesson.get("domains")
    if isinstance(domains, list) and domains:
        lines.append("about " + ", ".join(str(one) for one in domains))
    return lines[0], "\n".join(lines)


def _plan_graph(draft: Draft) -> tuple[str, str]:
    return plan_caption(draft.payload)


def plan_caption(payload: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name and the text of a plan with this payload."""
    return f"Plan: {_plan_name(payload)}", "\n".join([plan_sentence(payload), *_signals(payload.get("triggers"))])


def plan_sentence(payload: Mapping[str, Any]) -> str:
    """Return the first line of the text of a plan."""
    return f"Plan {payload['plan_id']} {payload['version']}: {_plan_name(payload)}. Steps: {_steps(payload)}"


def steps_sentence(payload: Mapping[str, Any]) -> str:
    """Return what a plan is for, if it says so, and its steps."""
    intent = payload.get("intent")
    return f"Plan: {intent}. Steps: {_steps(payload)}" if intent else f"Plan. Steps: {_steps(payload)}"


def _plan_name(payload: Mapping[str, Any]) -> str:
    """Return what a plan is for, or its id.

    Of a learned or a composed one, whose id has its tools in another order or its parts, it is its steps.
    """
    is_made = payload["plan_id"].startswith((LEARNED_PLAN, COMPOSED_PLAN))
    return str(payload.get("intent") or (_steps(payload) if is_made else payload["plan_id"]))


def _steps(payload: Mapping[str, Any]) -> str:
    return ", ".join(node["op"] for node in payload["nodes"])


def _signals(triggers: Any) -> list[str]:
    """Return the lines of the triggers of a plan; the schema of plans knows no triggers, so they may be anything."""
    found = triggers if isinstance(triggers, list) else []
    signals = [one.get("signal") for one in found if isinstance(one, dict)]
    return [f"when {signal}" for signal in signals if isinstance(signal, str) and signal.strip()]


def _inline(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else orjson.dumps(value).decode()


def _prose(value: Any) -> str:
    """Return a JSON value as words without brackets, for reading and for word search."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_prose(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(_prose(item) for item in value)
    return _inline(value)


_WRITERS = {
    MemoryType.EPISODIC: _episodic,
    MemoryType.SEMANTIC: _semantic,
    MemoryType.WORKING: _working,
    MemoryType.ENTITY: _entity,
    MemoryType.COMPETENCE: _competence,
    MemoryType.PLAN_GRAPH: _plan_graph,
}
