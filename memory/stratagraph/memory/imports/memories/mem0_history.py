"""The history of changes of mem0: the texts that a memory has had, each with the time in which it was the memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.memories.form import Named, RefusedMemory, Statement
from stratagraph.memory.imports.memories.format import Found
from stratagraph.memory.imports.memories.mem0_statements import owners_of, statement_of
from stratagraph.store.model.errors import InvalidInput

_CHANGES = ("ADD", "UPDATE", "DELETE")
_NO_CHANGES = ("NOOP", "NONE")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    at: datetime | None
    event: str
    old: str | None
    new: str | None
    owners: Sequence[Named]
    tags: tuple[str, ...]


def read_history(id_: str, entries: Sequence[tuple[str, Any]], memory: Any, reading: Reading) -> Iterator[Found]:
    """Yield the texts that the memory `id_` has had. `entries` are its changes, each with its place.

    `memory` is the memory itself, None where the file has only its history.
    """
    changes: list[_Change] = []
    for place, value in entries:
        try:
            with reading.object(value, "history.0") as fields:
                changes.append(_change(fields))
        except InvalidInput as error:
            yield RefusedMemory(place=place, reason=error.message)
    if all(change.at is not None for change in changes):
        changes.sort(key=lambda change: change.at.timestamp() if change.at is not None else 0)
    owners: Sequence[Named] = ()
    tags: tuple[str, ...] = ()
    if memory is not None:
        # The fields that are not read are counted where the memory itself is read, and so are mistakes in it.
        with suppress(InvalidInput):
            owners, tags = owners_of(Reading(zone=reading.zone).object(memory, ""))
    owners = owners or next((change.owners for change in changes if change.owners), ())
    yield from _texts(id_, changes, owners, tags, reading)


def _change(fields: Fields) -> _Change:
    event = fields.required_text("event").upper()
    if event not in (*_CHANGES, *_NO_CHANGES):
        raise InvalidInput(
            f"{fields.path('event')}: {event[:40]!r} is unknown; it must be one of {', '.join(_CHANGES)}"
        )
    created, updated = fields.time("created_at"), fields.time("updated_at")
    fields.take("id", "memory_id", "is_deleted")
    owners, tags = owners_of(fields)
    return _Change(
        at=created if event == "ADD" or updated is None else updated,
        event=event,
        old=fields.text("old_memory", "old_value", "prev_value"),
        new=fields.text("new_memory", "new_value"),
        owners=owners,
        tags=tags,
    )


def _texts(
    id_: str, changes: Sequence[_Change], owners: Sequence[Named], tags: tuple[str, ...], reading: Reading
) -> Iterator[Statement]:
    """Yield the texts in their order. The last one is the memory, unless it was deleted."""
    texts: list[Statement] = []
    for change in changes:
        if change.event in _NO_CHANGES:
            continue
        if texts:
            texts[-1] = replace(texts[-1], end=change.at)
        elif change.old and change.old.strip() and change.event != "ADD":
            texts.append(statement_of(f"{id_}@before", change.old, owners, tags, at=None, end=change.at))
        if change.event != "DELETE" and change.new and change.new.strip():
            own = tuple(dict.fromkeys((*tags, *change.tags)))
            texts.append(statement_of(id_, change.new, owners, own, at=change.at, start=change.at))
        elif texts:
            texts[-1] = replace(texts[-1], id=f"memory:{id_}" if change is changes[-1] else texts[-1].id)
    is_deleted = bool(changes) and changes[-1].event == "DELETE"
    for number, one in enumerate(texts):
        is_last = number == len(texts) - 1
        if is_last and not is_deleted:
            # A memory that never changed is stated as without its history, so that it is one fact in both.
            yield one if number else replace(one, start=None)
        elif one.end is None or (one.start is not None and one.end <= one.start):
            reading.skipped["earlier texts of memories that held for no known time"] += 1
        else:
            yield one if is_last or "@" in one.id else replace(one, id=f"{one.id}@{number}")
