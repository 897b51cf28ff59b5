"""The words by which restored records are found, computed as when they were captured, revised or learned.

The summary that a caller sent with a capture counts more than the text, and is not stored. Where nothing shows that
there was one, it is taken that there was none.
"""

from __future__ import annotations

from stratagraph.memory.capture.classify import TURN_SUMMARY
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.exported import Content, RecordLine
from stratagraph.store.model.trust import LEARNED_BY
from stratagraph.store.model.words import Terms, record_terms

_NONE = Terms([], [])


def words_of(index_key: bytes, line: RecordLine, content: Content) -> Terms:
    """Return the terms of a record with this content, its present one or an earlier one.

    The episode of a thread has none while it is open, and its members' words once it is closed, which are read when all
    of them are stored.
    """
    if line.episode is not None and not content.payload.get("timeline"):
        return _NONE
    return record_terms(index_key, content.text, _summary(line, content))


def _summary(line: RecordLine, content: Content) -> str:
    """Return what stands for the whole text, and counts more than it."""
    match line.type:
        case MemoryType.ENTITY:
            return "" if _is_as_captured(line, content) else content.name
        case MemoryType.COMPETENCE:
            return content.name if content.payload.get("lesson") and _first(line).text != content.text else ""
        case MemoryType.EPISODIC:
            if content.payload.get("outcome_reason"):
                return f"{content.name}\n{content.payload['outcome_reason']}"
            return _given_summary(content)
        case _:
            return ""


def _is_as_captured(line: RecordLine, content: Content) -> bool:
    """Return whether an entity is as it was captured itself, rather than made of a name or revised since."""
    first = _first(line)
    return first.interpretation is not None and (first.name, first.payload) == (content.name, content.payload)


def _first(line: RecordLine) -> Content:
    return line.history[0].content if line.history else line.content


def _given_summary(content: Content) -> str:
    """Return the summary that the caller gave of an event; empty where the event's own text stands for it."""
    timeline = content.payload.get("timeline") or []
    if len(timeline) != 1 or str(content.provenance.get("created_by")).startswith(LEARNED_BY):
        return ""
    summary, said = timeline[0].get("summary"), timeline[0].get("content")
    text = said.get("text") if isinstance(said, dict) else None
    if not isinstance(summary, str) or (isinstance(text, str) and text[:TURN_SUMMARY] == summary[:TURN_SUMMARY]):
        return ""
    if text is None and not content.payload.get("tool_graph") and _is_event(content, timeline[0].get("ref")):
        return ""  # what an event without a text has as its summary is what it says
    calls = content.payload.get("tool_graph") or ()
    made = [f"{call.get('tool')} {ended}" for call in calls for ended in ("failed", "returned")]
    return "" if summary in made else summary


def _is_event(content: Content, ref: object) -> bool:
    """Return whether the record is an event with this ref, rather than a whole episode of one event."""
    sources = [one.get("ref") for one in content.provenance.get("sources") or () if isinstance(one, dict)]
    return bool(sources) and (sources[0] == ref or str(sources[0]).startswith("candidate:"))
