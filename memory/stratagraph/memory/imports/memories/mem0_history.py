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
from stratagraph.memory.imports.memories.mem0_statements import Present, owners_of, read_present, statement_of
from stratagraph.memory.imports.memories.owners import earlier_ids
from stratagraph.store.model.errors import InvalidInput

_CHANGES = ("ADD", "UPDATE", "DELETE")
_NO_CHANGES = ("NOOP", "NONE")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    at: datetime | None
    event: str
    old: str | None
    new: str | None
    created: datetime | None = None
    owners: Sequence[Named] = ()
    tags: tuple[str, ...] = ()


def read_history(
    id_: str, entries: Sequence[tuple[str, Any]], memories: Sequence[Any], reading: Reading
) -> Iterator[Found]:
    """Yield the texts that the memory `id_` has had. `entries` are its changes, each with its place.

    `memories` are what the files say of the memory itself; none where there is only its history.
    """
    changes: list[_Change] = []
    for place, value in entries:
        try:
            with reading.object(value, "history.0") as fields:
                changes.append(_change(fields))
        except InvalidInput as error:
            yield RefusedMemory(place=place, reason=error.message)
    changes = [change for change in changes if change.event not in _NO_CHANGES]
    if all(change.at is not None for change in changes):
        changes.sort(key=lambda change: change.at.timestamp() if change.at is not None else 0)
    present = _newest(memories, reading)
    if present is not None:
        changes = _continued(changes, present)
    owners: Sequence[Named] = present.owners if present is not None else ()
    owners = owners or next((change.owners for change in changes if change.owners), ())
    yield from _texts(id_, changes, owners, present, reading)


def _newest(memories: Sequence[Any], reading: Reading) -> Present | None:
    """Return the memory as the file that was written last has it."""
    found: list[Present] = []
    for memory in memories:
        # The fields that are not read are counted where the memory itself is read, and so are mistakes in it.
        with suppress(InvalidInput):
            found.append(read_present(Reading(zone=reading.zone).object(memory, "")))
    return max(found, key=_written, default=None)


def _written(present: Present) -> tuple[float, str]:
    at = present.changed or present.at
    return (at.timestamp() if at is not None else 0), present.text


def _continued(changes: list[_Change], present: Present) -> list[_Change]:
    """Return the changes with one more, where the memory is newer than its history."""
    last = changes[-1] if changes else None
    at = present.changed or present.at
    if last is not None:
        if last.event != "DELETE" and last.new is not None and last.new.strip() == present.text.strip():
            return changes
        if at is None and last.event == "DELETE":
            return changes
        if at is not None and last.at is not None and at < last.at:
            return changes
    return [*changes, _Change(at=at, event="UPDATE", old=None, new=present.text, created=present.at)]


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
        created=created,
        owners=owners,
        tags=tags,
    )


def _texts(
    id_: str, changes: Sequence[_Change], owners: Sequence[Named], present: Present | None, reading: Reading
) -> Iterator[Statement]:
    """Yield the texts in their order. The last one is the memory, unless it was deleted."""
    texts: list[Statement] = []
    for change in changes:
        if texts:
            texts[-1] = replace(texts[-1], end=change.at)
        elif change.old and change.old.strip() and change.event != "ADD":
            texts.append(statement_of(id_, change.old, owners, (), at=None, end=change.at))
        if change.event != "DELETE" and change.new and change.new.strip():
            created = change.created or change.at
            texts.append(
                statement_of(id_, change.new, owners, change.tags, at=created, changed=change.at, start=change.at)
            )
    is_deleted = bool(changes) and changes[-1].event == "DELETE"
    own_tags = present.tags if present is not None else ()
    texts = [replace(one, tags=tuple(dict.fromkeys((*own_tags, *one.tags)))) for one in texts]
    ids = earlier_ids(f"memory:{id_}")
    for one in texts[:-1]:
        if one.end is None or (one.start is not None and one.end <= one.start):
            reading.skipped["earlier texts of memories that held for no known time"] += 1
            continue
        yield replace(one, id=next(ids))
    for one in texts[-1:]:
        # A memory that never changed is stated as without its history, so that it is one fact in both.
        last = one if len(texts) > 1 or is_deleted else replace(one, start=None)
        if not is_deleted:
            yield _current(last, present)
        elif one.end is None or (one.start is not None and one.end <= one.start):
            reading.skipped["earlier texts of memories that held for no known time"] += 1
        else:
            yield replace(last, changed_at=one.end)  # so that no file from before takes the place of it


def _current(one: Statement, present: Present | None) -> Statement:
    """Return the text that a memory has now, with what the memory itself says of it."""
    if present is None or one.value.strip() != present.text.strip():
        return replace(one, unsaid=("end",))
    end = present.end if present.end is None or one.start is None or present.end > one.start else None
    changed = present.changed or one.changed_at
    return replace(one, value=present.text, at=present.at or one.at, changed_at=changed, end=end)
