"""What qualifies a record where it is shown on one line: a state other than active, conditions, effective validity.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from stratagraph.memory.secrets.masking import masked
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import RecordState

if TYPE_CHECKING:  # commands import this module, and importing records takes long
    from stratagraph.store.model.records import MemoryRecord

CONDITIONS_LENGTH = 160  # characters of the conditions that are shown; longer ones are cut


def qualifiers(record: MemoryRecord) -> list[str]:
    """Return the state unless it is active, then `validity_phrases`; nothing for a redacted record.

    For example `contested`, `when region: eu`, `until 2027-01-01`.
    """
    if record.redacted:
        return []
    state = [] if record.state is RecordState.ACTIVE else [record.state.label]
    return state + validity_phrases(record.conditions, record.valid_from, record.valid_to)


def validity_phrases(
    conditions: Mapping[str, Any] | None, valid_from: datetime | None, valid_to: datetime | None
) -> list[str]:
    """Return under which conditions and in which interval a fact holds, each a phrase; nothing where it always holds.

    A bound at midnight UTC is shown as its date. The fact holds from the first bound until before the second.
    """
    found = []
    if conditions:
        shown, _ = masked(conditions, None)  # a sealed payload may hold secrets
        text = " and ".join(f"{key}: {_shown(value)}" for key, value in shown.items())
        line = " ".join(text.split())
        found.append(f"when {line if len(line) <= CONDITIONS_LENGTH else line[: CONDITIONS_LENGTH - 1] + '…'}")
    bounds = (("from", valid_from), ("until", valid_to))
    interval = " ".join(f"{word} {_instant(at)}" for word, at in bounds if at is not None)
    return [*found, interval] if interval else found


def _shown(value: Any) -> str:
    """Return a condition's value: a list as its alternatives, a string as it is, any other value as JSON."""
    if isinstance(value, list):
        return " or ".join(map(_shown, value))
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _instant(at: datetime) -> str:
    text = rfc3339(at)
    return text[:10] if text.endswith("T00:00:00Z") else text
