"""Episodes as the stages of learning read them, for tests without a store, and strategies that make them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from hypothesis import strategies as st

from stratagraph.memory.learning.episode import Episode, ToolCall, Turn
from stratagraph.store.model.enums import Sensitivity

NAMES = UUID("00000000-0000-7000-8000-000000000007")
# Names that a caller may choose, and that what is learned marks something with.
MARKERS = (
    *("by", "episodes", "tools", "steps", "values", "value", "count", "overflows", "learned", "said", "composed"),
    *(
        "look#2",
        "look#3",
        "look: id",
        "look:",
        "look+change",
        "a.b",
        "a[]",
        "[]",
        "%",
        "%2E",
        "%%",
        "*",
        "plan:",
        "skill:",
    ),
    *("consolidation/plans", "properties", "items", "required", "outcome", "success", "“look”", "conditions"),
)
BEGIN = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)


def call(
    tool: str,
    args: Mapping[str, Any] | None = None,
    result: Any = "",
    *,
    after: Sequence[int] = (),
    failed: bool = False,
    latency_ms: float | None = None,
) -> dict[str, Any]:
    """Return a call for `episode`; `after` are the numbers of the calls that it depends on, from 0."""
    return {
        "tool": tool,
        "args": dict(args or {}),
        "result": result,
        "after": tuple(after),
        "failed": failed,
        "latency_ms": latency_ms,
    }


def episode(
    name: str, *said_and_done: str | Mapping[str, Any], outcome: str | None = "success", minute: int = 0, **more: Any
) -> Episode:
    """Return an episode in which these things happened in turn: texts are the user's, the others are calls."""
    id_ = uuid5(NAMES, name)
    begin = BEGIN + timedelta(minutes=minute)
    turns: list[Turn] = []
    calls: list[ToolCall] = []
    for second, one in enumerate(said_and_done):
        at, record = begin + timedelta(seconds=second), uuid5(id_, str(second))
        if isinstance(one, str):
            turns.append(Turn(role="user", text=one, occurred_at=at, record_id=record))
            continue
        calls.append(
            ToolCall(
                id=f"call-{len(calls)}",
                tool=one["tool"],
                args=one["args"],
                result=one["result"],
                failed=one["failed"],
                error=str(one["result"]) if one["failed"] else None,
                at=at,
                latency_ms=one["latency_ms"],
                depends_on=tuple(f"call-{number}" for number in one["after"]),
                record_id=record,
            )
        )
    return Episode(
        id=id_,
        scope="",
        sensitivity=Sensitivity.LOW,
        thread=None,
        outcome=outcome,
        started_at=begin,
        closed_at=begin + timedelta(seconds=len(said_and_done)),
        task=turns[0].text if turns else "",
        turns=tuple(turns),
        calls=tuple(calls),
        **more,
    )


def renamed(one: Episode, salt: str) -> Episode:
    """Return the same episode with other ids of itself, its records and its calls."""

    def call_id(id_: str) -> str:
        return f"{salt}/{id_}"

    return replace(
        one,
        id=uuid5(one.id, salt),
        turns=tuple(replace(turn, record_id=uuid5(turn.record_id, salt)) for turn in one.turns),
        calls=tuple(
            replace(
                done,
                id=call_id(done.id),
                depends_on=tuple(map(call_id, done.depends_on)),
                record_id=uuid5(done.record_id, salt),
            )
            for done in one.calls
        ),
    )


@st.composite
def calls(draw: st.DrawFn, tools: Sequence[str]) -> list[dict[str, Any]]:
    """Return calls of all `tools`, each at least once, with dependencies on earlier calls."""
    order = draw(st.permutations([*tools, *draw(st.lists(st.sampled_from(tools), max_size=3))]))
    found = []
    for number, tool in enumerate(order):
        after = draw(st.sets(st.integers(0, number - 1), max_size=2)) if number else set()
        value = draw(st.sampled_from(["alpha", "beta", "gamma", 1, True, None, *MARKERS]))
        odd = draw(
            st.dictionaries(st.sampled_from([*MARKERS, ""]), st.sampled_from(["first-key", {"by": 1}, [2]]), max_size=2)
        )
        found.append(
            call(
                tool,
                {"value": value, "key": draw(st.sampled_from(["first-key", "second-key"])), **odd},
                draw(st.sampled_from(["", {"id": "first-key", "state": "open"}, "second-key"])),
                after=sorted(after),
                failed=draw(st.booleans()) and number < len(order) - 1,
                latency_ms=draw(st.sampled_from([None, 10.0, 250.0])),
            )
        )
    return found


@st.composite
def episodes(draw: st.DrawFn, *, most: int = 6) -> list[Episode]:
    """Return episodes with the same tools, closed at different instants."""
    marked = st.lists(st.sampled_from(MARKERS), min_size=1, max_size=2, unique=True).map(lambda names: ["look", *names])
    tools = draw(st.sampled_from([["look"], ["look", "change"], ["look", "think", "change"]]) | marked)
    found = []
    for minute in range(draw(st.integers(1, most))):
        happened = draw(calls(tools))
        at = draw(st.integers(0, len(happened)))
        said = draw(st.sampled_from(["please look up first-key", "change beta", "yes"]))
        outcome = draw(st.sampled_from(["success", "failure", "partial"]))
        environment = draw(
            st.sampled_from([{}, {"os": "linux"}, {"os": "mac", "ci": True}, {"by": "by", "episodes": 3}])
        )
        found.append(
            episode(
                f"episode {minute}",
                *happened[:at],
                said,
                *happened[at:],
                outcome=outcome,
                minute=minute,
                environment=environment,
            )
        )
    return found
