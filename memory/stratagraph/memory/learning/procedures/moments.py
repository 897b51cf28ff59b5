"""An episode as one sequence of turns and calls. No I/O."""

from __future__ import annotations

from dataclasses import dataclass

from stratagraph.memory.learning.episode import Episode, ToolCall, Turn

USERS = ("user", "human")  # roles of those for whom the agent works


@dataclass(frozen=True, slots=True)
class Moments:
    """The turns and calls of an episode in the order in which they happened."""

    sequence: tuple[Turn | ToolCall, ...]

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(one for one in self.sequence if isinstance(one, ToolCall))


def moments_of(episode: Episode) -> Moments:
    """Return the turns and calls by time; those of one instant in the order of the timeline, turns before calls."""
    places: dict[object, int] = {}
    for place, event in enumerate(episode.events):
        places.setdefault(event.record_id, place)
    whole = episode.id  # events of an episode that was captured as a whole all have its id
    entries: list[tuple[tuple[object, ...], Turn | ToolCall]] = []
    for number, turn in enumerate(episode.turns):
        place = places.get(turn.record_id, 0) if turn.record_id != whole else 0
        entries.append(((turn.occurred_at, place, 0, number), turn))
    for number, call in enumerate(episode.calls):
        place = places.get(call.record_id, 0) if call.record_id != whole else 0
        entries.append(((call.at, place, 1, number), call))
    entries.sort(key=lambda entry: entry[0])
    return Moments(tuple(one for _, one in entries))


def said_by_user(episode: Episode) -> list[str]:
    """Return what the user said, in order; without any, the task of the episode."""
    said = [turn.text for turn in episode.turns if turn.role in USERS and turn.text.strip()]
    return said or ([episode.task] if episode.task.strip() else [])
