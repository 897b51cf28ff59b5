"""The inputs of the captures that steps make. `mark` is the word that tells whose content it is, or empty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noninterference.steps import OPS, WORDS, Step

Json = dict[str, Any]


def capture_of(step: Step, mark: str, named: str | None) -> Json:
    """Return the input of a capture without scope and sensitivity; `named` is the record that it refers to."""
    source, content, more = _CONTENTS[step["kind"]](step, mark, named)
    if step.get("thread") is not None:
        content["thread_id"] = step["thread"]
    tags = [WORDS[step["place"] % len(WORDS)]]
    return {"source": "test", "sourceKind": source, "content": content, "tags": tags, **more}


def _words(step: Step, mark: str) -> str:
    return " ".join([*step["words"], mark]).strip()


def _observe(step: Step, mark: str, named: str | None) -> tuple[str, Json, Json]:
    content: Json = {"subject": step["subject"], "predicate": step["predicate"], "object": step["value"]}
    if mark and isinstance(step["value"], str) and step["place"] % 2:
        content["object"] += f" {mark}"
    if step["policy"] is not None:
        content["revision_policy"] = step["policy"]
    if named is not None:
        content["evidence"] = [{"kind": "event", "ref": named}]
    return "OBSERVATION", content, {}


def _turn(step: Step, mark: str, _: str | None) -> tuple[str, Json, Json]:
    return "AGENT_TURN", {"role": "user", "text": _words(step, mark)}, {}


def _event(step: Step, mark: str, named: str | None) -> tuple[str, Json, Json]:
    content: Json = {"event_kind": "seen", "ref": f"ref-{step['place']}", "summary": _words(step, mark)}
    return "EVENT", content, {"context": {"references": [named]}} if named is not None else {}


def _tool(step: Step, mark: str, _: str | None) -> tuple[str, Json, Json]:
    words = _words(step, mark)
    return "TOOL_OUTPUT", {"tool_name": OPS[step["place"] % len(OPS)], "args": {"about": words}, "result": words}, {}


def _outcome(_: Step, mark: str, __: str | None) -> tuple[str, Json, Json]:
    return "OUTCOME", {"outcome_status": "success", "reason": mark or "done"}, {}


def _working(step: Step, mark: str, _: str | None) -> tuple[str, Json, Json]:
    words = _words(step, mark)
    content = {"thread_id": "w", "state": "executing", "context_summary": words, "next_actions": [words]}
    return "WORKING_STATE", content, {}


def _entity(step: Step, mark: str, _: str | None) -> tuple[str, Json, Json]:
    content: Json = {"kind": "entity", "canonical_name": step["name"], "primary_type": "Thing"}
    content["summary"] = mark or "an entity"
    if step["alias"] is not None:
        content["aliases"] = [{"value": step["alias"]}]
    if step["mail"] < 6:
        content["identifiers"] = [{"namespace": "email", "value": f"{step['mail']}@x.example"}]
    return "OBSERVATION", content, {"proposedType": "ENTITY"}


def _skill(step: Step, mark: str, _: str | None) -> tuple[str, Json, Json]:
    words = _words(step, mark)
    content = {
        "kind": "competence",
        "skill_name": "s",
        "triggers": [{"signal": words, "conditions": {}}],
        "recipe": [{"step": words, "tool": "fetch"}],
    }
    return "OBSERVATION", content, {"proposedType": "COMPETENCE"}


def _plan(step: Step, mark: str, _: str | None) -> tuple[str, Json, Json]:
    nodes = [{"id": str(at), "op": op} for at, op in enumerate(step["ops"])]
    edges = [{"from": str(at), "to": str(at + 1), "kind": "control"} for at in range(len(nodes) - 1)]
    content = {"kind": "plan_graph", "plan_id": "p", "version": str(step["place"]), "nodes": nodes}
    return "OBSERVATION", content | {"edges": edges, "intent": mark or "ship"}, {"proposedType": "PLAN_GRAPH"}


_CONTENTS: dict[str, Callable[[Step, str, str | None], tuple[str, Json, Json]]] = {
    "observe": _observe,
    "turn": _turn,
    "event": _event,
    "tool": _tool,
    "outcome": _outcome,
    "working": _working,
    "entity": _entity,
    "skill": _skill,
    "plan": _plan,
}
