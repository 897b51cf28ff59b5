"""Whose a memory is where its own file does not say it, and what else the known version of a memory says of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from typing import Any

from stratagraph.memory.imports.memories.form import Named, Statement
from stratagraph.memory.imports.memories.requests import UNSAID, changed_at, said_by, said_in
from stratagraph.store.model.records import MemoryRecord

OWNERS = "owners"  # the field of `more` with the ids of those whose memory it is, where they are known
BOUNDS = {"start", "end"}


def earlier_ids(id_: str) -> Iterator[str]:
    """Yield the ids of the texts that a memory had before the present one; the first that is not known ends them."""
    return (f"{id_}@{number}" for number in count())


def owners_in(record: MemoryRecord | None) -> list[str]:
    """Return the ids of those whose memory a stored fact is; none where they were not known."""
    origin = ((record.payload if record is not None else None) or {}).get("origin")
    owners = origin.get(OWNERS) if isinstance(origin, dict) else None
    return [one for one in owners if isinstance(one, str)] if isinstance(owners, list) else []


def owned(statement: Statement, owners: Sequence[str], named: Callable[[str], Named]) -> Statement:
    """Return a statement as one about its owners."""
    subject, *others = map(named, owners)
    return replace(
        statement,
        subject=subject,
        about=tuple(others),
        tags=tuple(dict.fromkeys((*owners, *statement.tags))),
        more={**statement.more, OWNERS: list(owners)},
        whose=None,
    )


def completed(statement: Statement, known: MemoryRecord, *, is_older: bool) -> Statement:
    """Return a statement with the bounds of its known version, as far as it leaves them unsaid, or is older.

    It is returned as it is where the known version says something else, or says all that it has to say.
    """
    payload = known.payload or {}
    guessed = _unsaid_in(payload)
    if not (statement.unsaid or guessed) or not _is_repeated(statement, known):
        return statement
    kept = {*statement.unsaid, *(BOUNDS - guessed if is_older else ())}
    stored = _bounds(payload)
    start, end = (stored[name] if name in kept else getattr(statement, name) for name in ("start", "end"))
    if start is not None and end is not None and end <= start:
        return statement
    changed = changed_at(payload) if is_older else statement.changed_at
    return replace(statement, start=start, end=end, changed_at=changed, unsaid=tuple(sorted(kept & guessed)))


def learns(statement: Statement, known: MemoryRecord) -> bool:
    """Return whether a statement, completed by its known version, says a bound that the known version only guesses."""
    return bool(_unsaid_in(known.payload or {}) - {*statement.unsaid}) and _is_repeated(statement, known)


def _is_repeated(statement: Statement, known: MemoryRecord) -> bool:
    """Return whether a known version says the same, also of owners that were not known then."""
    payload = known.payload or {}
    if statement.more.get(OWNERS) and not owners_in(known):
        statement = replace(statement, subject=Named(name=str(payload.get("subject"))))
    return said_by(statement) == said_in(payload)


def restated(id_: str, record: MemoryRecord, system: str) -> Statement:
    """Return the statement that a stored fact was made of, but for its owners."""
    payload = record.payload or {}
    bounds = _bounds(payload)
    origin = payload.get("origin")
    created, changed = (
        _time(origin.get(name)) if isinstance(origin, dict) else None for name in ("created_at", "updated_at")
    )
    return Statement(
        id=id_,
        subject=Named(name=str(payload.get("subject"))),
        predicate=str(payload.get("predicate")),
        value=payload.get("object"),
        start=bounds["start"],
        end=bounds["end"],
        at=created,
        changed_at=changed,
        unsaid=tuple(sorted(_unsaid_in(payload))),
        tags=tuple(tag for tag in record.tags if tag != system),
    )


def _bounds(payload: dict[str, Any]) -> dict[str, datetime | None]:
    validity = payload.get("validity") or {}
    return {name: _time(validity.get(name)) for name in BOUNDS}


def _unsaid_in(payload: dict[str, Any]) -> set[str]:
    origin = payload.get("origin")
    unsaid = origin.get(UNSAID) if isinstance(origin, dict) else None
    return BOUNDS & {one for one in unsaid if isinstance(one, str)} if isinstance(unsaid, list) else set()


def _time(value: Any) -> datetime | None:
    return datetime.fromisoformat(value) if isinstance(value, str) else None
