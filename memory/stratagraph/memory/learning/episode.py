"""A closed episode as the stages of learning read it: plain values, no store.

An episode is either the episode of a thread, whose turns and calls are records of their own, or one that was captured
as a whole, whose events have no records. The content of sealed records is decrypted: it must not leave the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.store.model.enums import Sensitivity


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One thing said. `role` is as captured: user, assistant, or any other word, lower case.

    `record_id` is the record that holds it: the turn's own, or the episode's where the episode was captured as a whole.
    """

    role: str
    text: str
    occurred_at: datetime
    record_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool. `id` is unique in its episode, and `depends_on` has ids of earlier calls of the episode.

    `args` is a JSON object, empty if the call had none; arguments that are not an object are under the key "value".
    `result` is JSON or text, None if there was none. `error` is the text of what failed, None for a call that did not
    fail. `latency_ms` is in milliseconds, at least 0, None if unknown. `record_id` is as in `Turn`.
    """

    id: str
    tool: str
    args: Mapping[str, Any]
    result: Any
    failed: bool
    error: str | None
    at: datetime
    latency_ms: float | None
    depends_on: tuple[str, ...]
    record_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One entry of the timeline. `summary` is empty if it has none. `record_id` is as in `Turn`.

    `entities` are those that its record names.
    """

    kind: str
    summary: str
    at: datetime
    record_id: UUID
    entities: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """A closed episode. `outcome` is "success", "failure", "partial", or None.

    `scope` is its name, empty for unscoped. `task` is what was asked: the intent that the episode states, or the first
    turn of the user, or else the first turn; empty without any. Turns, calls and events are in order of time, those of
    one instant in order of arrival; of an episode with more than MAX_EVENTS members, only the first are read.
    `entities` are the entities that its records name, in order of their first mention.
    """

    id: UUID
    scope: str
    sensitivity: Sensitivity
    thread: str | None
    outcome: str | None
    outcome_reason: str | None = None
    started_at: datetime
    closed_at: datetime
    task: str
    turns: tuple[Turn, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    events: tuple[Event, ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    entities: tuple[UUID, ...] = ()
