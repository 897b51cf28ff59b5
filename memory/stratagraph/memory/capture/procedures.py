"""The tools that plans and skills use, and the entities that their triggers name. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stratagraph.memory.capture.draft import Named
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.payloads.procedures import tools_used

MAX_TOOLS = 256  # linked to one plan or skill
MAX_TRIGGER_NAMES = 256  # looked up for one plan or skill
MAX_RUN = 4  # words of a name within a signal
USES, MENTIONS = 0.8, 0.7  # weights of the relations
_WORD = re.compile(r"[\w./@:'&#+-]*[\w+#]")


def names_of_procedure(payload: Mapping[str, Any], memory_type: MemoryType) -> list[Named]:
    """Return the tools that a plan or a skill uses, and the names in its triggers; none for a record of another type.

    The tools become entities. The names in signals, conditions and guards are linked only where an entity of that name
    exists.
    """
    match memory_type:
        case MemoryType.COMPETENCE:
            triggers = payload["triggers"]
            names = [name for trigger in triggers for name in _runs(trigger["signal"])]
            conditions = [trigger.get("conditions") for trigger in triggers]
        case MemoryType.PLAN_GRAPH:
            names = list(_runs(payload.get("intent") or ""))
            conditions = [node.get("guards") for node in payload["nodes"]] + [payload.get("constraints")]
        case _:
            return []
    used = tools_used(payload, memory_type)[:MAX_TOOLS]
    named = [*(text for one in conditions for text in _texts(one)), *names]
    mentioned = [name for name in dict.fromkeys(name.strip() for name in named) if 1 < len(name) <= 256]
    return [
        *(Named(name=tool, predicate="uses", weight=USES, type="Tool", identifiers=(("tool", tool),)) for tool in used),
        *(
            Named(name=name, predicate="mentions_entity", weight=MENTIONS, known_only=True)
            for name in mentioned[:MAX_TRIGGER_NAMES]
        ),
    ]


def _texts(value: Any) -> Iterator[str]:
    """Return the strings of a JSON value, at any depth, without the keys of its objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts_of(value.values())
    elif isinstance(value, list):
        yield from _texts_of(value)


def _texts_of(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        yield from _texts(value)


def _runs(text: str) -> list[str]:
    """Return the runs of up to MAX_RUN words of a text, the longest first, since they name things most exactly."""
    words = _WORD.findall(text)
    return [
        " ".join(words[start : start + length])
        for length in range(min(MAX_RUN, len(words)), 0, -1)
        for start in range(len(words) - length + 1)
    ]
