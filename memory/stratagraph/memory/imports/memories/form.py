"""The one form that memories of every system are read into: things, statements and events, each with its identity.

An `id` is unique among the memories of its system; it is what a memory is recognised by when it is imported again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A thing as a memory names it. `id` is its identifier in its system, None if it has only its name there."""

    name: str
    type: str | None = None
    id: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What all memories have: an identity, a time, tags, and further fields that are kept as they are in `more`.

    `at` is when it was remembered, None if the file does not say; `changed_at` when it was changed last. `attachments`
    are files that belong to it. `place` is where the file has it, for people.
    """

    id: str
    at: datetime | None = None
    changed_at: datetime | None = None
    tags: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    attachments: tuple[Path, ...] = ()
    place: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Memory):
    """An entity, with a sentence about it where there is one."""

    named: Named
    types: tuple[str, ...] = ()
    summary: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Memory):
    """A fact: about whom or what, in which respect, and its value, which is a thing or any JSON value but null.

    It holds from `start` until `end`, as far as these are known. `text` says it in a sentence. `about` are further
    things that it names, `sources` the ids of the events that it was learned from.

    `whose` is the id of the memory whose owners it has, where its file does not name them, so that `subject` only
    stands in for them. `unsaid` are those of `start` and `end` that its file does not say, or only guesses: the known
    version keeps them if it says the same otherwise.
    """

    subject: Named
    predicate: str
    value: Any
    start: datetime | None = None
    end: datetime | None = None
    text: str | None = None
    about: tuple[Named, ...] = ()
    sources: tuple[str, ...] = ()
    whose: str | None = None
    unsaid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening(Memory):
    """Something that happened or was said, which never changes. `role` is who spoke, None where nobody did.

    `thread` is the conversation that it belongs to.
    """

    kind: str
    text: str
    role: str | None = None
    thread: str | None = None
    about: tuple[Named, ...] = ()


Remembered = Thing | Statement | Happening


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedMemory:
    """A part of a file that is not read, and why."""

    place: str
    reason: str
