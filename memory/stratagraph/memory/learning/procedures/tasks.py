"""The tasks of a skill or plan, in the words of those who asked. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from stratagraph.memory.learning.episode import Episode
from stratagraph.memory.learning.procedures.moments import said_by_user
from stratagraph.memory.learning.procedures.witnesses import Witness, witnesses_as_json, witnesses_of_json

MAX_TASKS = 12  # kept of one skill or plan, the newest
MAX_TASK = 600  # characters of one of them


@dataclass(frozen=True, slots=True, order=True)
class Task:
    """What the user said in one episode, shortened, and the episode's outcome."""

    by: Witness
    text: str
    outcome: str

    def as_json(self, episodes: dict[Witness, int]) -> dict[str, Any]:
        """Return the task as JSON, which `of_json` reads."""
        return {"text": self.text, "outcome": self.outcome, "by": witnesses_as_json((self.by,), episodes)}

    @classmethod
    def of_json(cls, stored: Mapping[str, Any], episodes: Sequence[Witness]) -> Self:
        """Return the task of `as_json`."""
        return cls(witnesses_of_json(stored["by"], episodes)[0], str(stored["text"]), str(stored["outcome"]))


def tasks_of(episode: Episode, outcome: str, witness: Witness) -> tuple[Task, ...]:
    """Return the task of an episode; none if nothing was asked for."""
    text = shortened(asked_for(episode))
    return (Task(witness, text, outcome),) if text else ()


def asked_for(episode: Episode) -> str:
    """Return what was asked for in an episode: its intent, where it states one, and what the user said."""
    return "\n".join([*_intent(episode), *said_by_user(episode)])


def newest_tasks(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return the newest MAX_TASKS tasks, the newest first."""
    return tuple(sorted(set(tasks), reverse=True)[:MAX_TASKS])


def forgetting(tasks: Iterable[Task], episodes: Collection[str]) -> tuple[Task, ...]:
    """Return the tasks of others than `episodes`."""
    return tuple(one for one in tasks if one.by.episode not in episodes)


def shortened(text: str) -> str:
    """Return the text on one line, cut at a word to at most MAX_TASK characters."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_TASK else line[:MAX_TASK].rsplit(" ", 1)[0]


def _intent(episode: Episode) -> list[str]:
    """Return the intent that the episode states, where it is not a turn."""
    stated = episode.task.strip()
    return [stated] if stated and all(stated != turn.text.strip() for turn in episode.turns) else []
