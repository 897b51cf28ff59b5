"""What a format of memories is: how its files are told from others, and how one is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Protocol

from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.format import Difference
from stratagraph.memory.imports.memories.form import RefusedMemory, Remembered
from stratagraph.store.model.errors import InvalidInput

Found = Remembered | RefusedMemory
SHOWN = 20  # rows, or values of a row, by which a format is recognised


@dataclass(frozen=True, slots=True)
class Row:
    """A JSON value of a file: a line, an element of a list, or the whole. `place` is `line 3`, `item 3` or empty."""

    place: str
    value: Any


class Rows(Protocol):
    """The rows of a file, which can be read several times."""

    def __iter__(self) -> Iterator[Row | RefusedMemory]:
        """Yield the rows from the first one on, and the lines that are none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFormat:
    """A format. `key` is what `--as` calls it, `system` the namespace of its identifiers.

    `documented` names the version of the documentation that it was read from. `difference` returns None for a
    row that has the format's shape. `read` returns the memories of a file, and counts in `reading` what it
    leaves out; a part that is malformed is returned as refused, and the others are read. It is None where a file
    has records of this service's own form, which are restored. `fields` are names by which people who look at a file
    tell the format. With `together`, all files of a run are read as one, because they complete each other.
    """

    key: str
    name: str
    system: str
    documented: str
    difference: Callable[[Any], Difference | None]
    read: Callable[[Rows, Reading], Iterable[Found]] | None
    fields: frozenset[str]
    together: bool = False


def first_fitting(values: Iterable[Any], difference: Callable[[Any], Difference | None]) -> Difference | None:
    """Return None if one of the first values has a shape; else what differs in the first one."""
    first: Difference | None = None
    for value in islice(values, SHOWN):
        found = difference(value)
        if found is None:
            return None
        first = first or found
    return first or difference(None)


def each(
    values: Iterable[tuple[str, Any]], reading: Reading, read: Callable[[Fields], Iterable[Found]], *, within: str = ""
) -> Iterator[Found]:
    """Read objects, each given with its place; one that raises InvalidInput is yielded as refused and yields no more.

    `within` is the path of the objects in the report of unread fields, such as `results.0`.
    """
    for place, value in values:
        try:
            with reading.object(value, within) as fields:
                found = list(read(fields))
        except InvalidInput as error:
            yield RefusedMemory(place=place, reason=error.message)
        else:
            yield from (located(one, place) for one in found)


def located(found: Found, place: str) -> Found:
    """Return a memory with the place in its file, unless it has one."""
    return found if found.place or not place else replace(found, place=place)
