"""Due episodes as the stages read them: turns, calls and events taken from the payloads of an episode's records."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.learning.episode import Episode, Event, ToolCall, Turn
from stratagraph.store.keys.callers import Caller
from stratagraph.store.learning.episodes import DueEpisode, StoredMember, fetch_members, fetch_named_entities
from stratagraph.store.learning.groups import Group
from stratagraph.store.postgres.database import Connection

MAX_ERROR = 2_000  # characters of the text of an error
_STATED = ("intent", "task", "goal")  # keys by which an episode or its environment states what was asked
_LATENCIES = ("latency_ms", "duration_ms", "elapsed_ms")  # keys of the content of a call's event
_SPEAKERS = ("user", "human", "assistant", "agent")  # event kinds that are themselves the role of a turn


async def read_episodes(
    connection: Connection, caller: Caller, group: Group, scope: str, due: Sequence[DueEpisode]
) -> tuple[Sequence[DueEpisode], tuple[Episode, ...]]:
    """Return the first of the due episodes of a group, as many as can be read at once, and their content.

    There is at least one, unless `due` is empty. One that has no record in the group any more has no content.
    """
    if not due:
        return due, ()
    members = await fetch_members(connection, caller.tenant, group, [one.id for one in due])
    last = max((place for place, one in enumerate(due) if one.id in members), default=len(due) - 1)
    records = {member.record for of_episode in members.values() for member in of_episode}
    named = await fetch_named_entities(connection, caller, sorted(records))
    read = due[: last + 1]
    return read, tuple(
        episode_of(one, members[one.id], scope=scope, group=group, named=named) for one in read if one.id in members
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of a timeline, with the record that it is in."""

    event: Mapping[str, Any]
    record: UUID
    at: datetime

    @property
    def content(self) -> Mapping[str, Any]:
        content = self.event.get("content")
        return content if isinstance(content, Mapping) else {}


def episode_of(
    due: DueEpisode,
    members: Sequence[StoredMember],
    *,
    scope: str,
    group: Group,
    named: Mapping[UUID, Sequence[UUID]],
) -> Episode:
    """Return one episode from its own record, the first of `members`, and the records that belong to it."""
    own = members[0].payload
    entries = _entries(members)
    turns = _turns(entries)
    environment = own.get("environment")
    environment = environment if isinstance(environment, Mapping) else {}
    return Episode(
        id=due.id,
        scope=scope,
        sensitivity=group.sensitivity,
        thread=own.get("thread_id"),
        outcome=due.outcome.label if due.outcome is not None else None,
        outcome_reason=own.get("outcome_reason"),
        started_at=min((entry.at for entry in entries), default=members[0].occurred_at),
        closed_at=due.closed_at,
        task=_task(own, environment, turns),
        turns=turns,
        calls=_calls(members, entries),
        events=_events(entries, named),
        environment=environment,
        entities=tuple(dict.fromkeys(entity for member in members for entity in named.get(member.record, ()))),
    )


def said_in(members: Sequence[StoredMember]) -> tuple[tuple[Turn, ...], tuple[Event, ...]]:
    """Return the turns and the events of some records of an episode, in order of time, without their entities."""
    entries = _entries(members)
    return _turns(entries), _events(entries, {})


def _entries(members: Sequence[StoredMember]) -> list[_Entry]:
    return sorted(
        (
            _Entry(event, member.record, _instant(event.get("t"), member.occurred_at))
            for member in members
            for event in member.payload.get("timeline") or ()
        ),
        key=lambda entry: entry.at,
    )


def _turns(entries: Iterable[_Entry]) -> tuple[Turn, ...]:
    return tuple(turn for entry in entries if (turn := _turn(entry)) is not None)


def _events(entries: Iterable[_Entry], named: Mapping[UUID, Sequence[UUID]]) -> tuple[Event, ...]:
    return tuple(
        Event(
            kind=str(entry.event.get("event_kind") or "event"),
            summary=str(entry.event.get("summary") or ""),
            at=entry.at,
            record_id=entry.record,
            entities=tuple(named.get(entry.record, ())),
        )
        for entry in entries
    )


def _turn(entry: _Entry) -> Turn | None:
    """Return the turn that an entry is; None for one that is no turn."""
    kind = entry.event.get("event_kind")
    text, role = entry.content.get("text"), entry.content.get("role")
    if kind in _SPEAKERS and not isinstance(role, str):
        role, text = kind, text if isinstance(text, str) else entry.event.get("summary")
    if not isinstance(role, str) or not isinstance(text, str) or not text.strip():
        return None
    return Turn(role=role.strip().lower(), text=text, occurred_at=entry.at, record_id=entry.record)


def _task(own: Mapping[str, Any], environment: Mapping[str, Any], turns: Sequence[Turn]) -> str:
    context = environment.get("context")
    for stated in (own, environment, context if isinstance(context, Mapping) else {}):
        for key in _STATED:
            value = stated.get(key)
            if isinstance(value, str) and value.strip():
                return value.strip()
    asked = next((turn.text for turn in turns if turn.role in ("user", "human")), None)
    return (asked or (turns[0].text if turns else "")).strip()


def _calls(members: Sequence[StoredMember], entries: Iterable[_Entry]) -> tuple[ToolCall, ...]:
    """Return the tool calls in order of time. A repeated id gets a number, and `depends_on` names the last one before.

    Ids of calls that are not in the episode are left out of `depends_on`.
    """
    events = {entry.record: entry for entry in entries if str(entry.event.get("event_kind")).startswith("tool")}
    nodes = [
        (_instant(node.get("timestamp"), member.occurred_at), member.record, node)
        for member in members
        for node in member.payload.get("tool_graph") or ()
    ]
    nodes.sort(key=lambda one: one[0])
    is_whole = Counter(record for _, record, _ in nodes)
    given = {str(node.get("id")) for _, _, node in nodes}
    seen: Counter[str] = Counter()
    latest: dict[str, str] = {}
    calls = []
    for at, record, node in nodes:
        # Only a record with one call of its own has an event that speaks of this call.
        has_own_event = record in events and is_whole[record] == 1
        content = events[record].content if has_own_event else {}
        has_failed_event = has_own_event and events[record].event["event_kind"] == "tool_error"
        id_ = str(node.get("id"))
        seen[id_] += 1
        while seen[id_] > 1 and f"{id_}#{seen[id_]}" in given:
            seen[id_] += 1
        unique = id_ if seen[id_] == 1 else f"{id_}#{seen[id_]}"
        error = content.get("error", node.get("error"))
        failed = has_failed_event or bool(error) or node.get("failed") is True
        result = node.get("result")
        depends_on = node.get("depends_on") or ()
        calls.append(
            ToolCall(
                id=unique,
                tool=str(node.get("tool")),
                args=_arguments(node.get("args")),
                result=result,
                failed=failed,
                error=_error(error, result) if failed else None,
                at=at,
                latency_ms=_latency(content, node),
                depends_on=tuple(dict.fromkeys(latest[one] for one in map(str, depends_on) if one in latest)),
                record_id=record,
            )
        )
        latest[id_] = unique
    return tuple(calls)


def _arguments(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    return value if isinstance(value, Mapping) else {"value": value}


def _error(error: Any, result: Any) -> str:
    """Return the text of a failure: what the call says of it, or else its result."""
    said = result if error in (None, True, False) else error
    text = said if isinstance(said, str) else orjson.dumps(said).decode() if said is not None else ""
    return text[:MAX_ERROR]


def _latency(*sources: Mapping[str, Any]) -> float | None:
    for source in sources:
        for key in _LATENCIES:
            value = source.get(key)
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
                return float(value)
    return None


def _instant(value: object, fallback: datetime) -> datetime:
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        return fallback
    return found if found.tzinfo is not None else fallback
