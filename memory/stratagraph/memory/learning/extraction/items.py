"""The texts of an episode that a language model reads. No I/O."""

from __future__ import annotations

from collections.abc import Iterable

from stratagraph.memory.learning.episode import Event, Turn
from stratagraph.memory.learning.extraction.prompt import Item

_OF_TURNS_AND_CALLS = ("agent_turn", "tool_output", "tool_error", "user", "human", "assistant", "agent")


def items_of(turns: Iterable[Turn], events: Iterable[Event]) -> list[Item]:
    """Return what was said, and the summaries of the other events, in order of time.

    Arguments and results of tools are left out: they are data of programs, long, and seldom statements.
    """
    said = [Item(role=one.role, text=one.text, at=one.occurred_at, record=one.record_id) for one in turns]
    summaries = [
        Item(role=one.kind, text=one.summary, at=one.at, record=one.record_id)
        for one in events
        if one.kind not in _OF_TURNS_AND_CALLS and one.summary.strip()
    ]
    return sorted((one for one in (*said, *summaries) if one.text.strip()), key=lambda one: one.at)
