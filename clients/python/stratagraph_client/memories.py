"""What the high-level calls return."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What became of something to remember.

    `id` is the record that it became or was added to; `is_new` is false where it was known already. `sequence` is the
    token of the write. `replaced` are the ids of records that it superseded, `in_doubt` of those that it contradicts.
    """

    id: str
    text: str
    is_new: bool
    sequence: str
    replaced: tuple[str, ...] = ()
    in_doubt: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory:
    """One memory of an answer. `strength`, from 0 to 1, says how well it fits; None for what only connects others."""

    id: str
    type: str
    text: str
    state: str
    strength: float | None
    scope: str
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """An answer: its memories, best first, and `text`, the same as lines for a prompt.

    `retrieval_id` is for `report_outcome`. `nothing_known` says that no memory fits the question.
    """

    text: str
    memories: tuple[RecalledMemory, ...]
    retrieval_id: str
    nothing_known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Lessons:
    """Lessons from mistakes for a task: lines for a prompt, and what is needed to credit them."""

    text: str
    lesson_ids: tuple[str, ...]
    playbook_id: str
