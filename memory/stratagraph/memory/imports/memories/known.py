"""All formats of memories in files, and which of them a file has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stratagraph.memory.imports.memories import membrane
from stratagraph.memory.imports.memories.format import MemoryFormat
from stratagraph.memory.imports.memories.graphiti import GRAPHITI
from stratagraph.memory.imports.memories.langgraph_store import LANGGRAPH_STORE
from stratagraph.memory.imports.memories.letta import LETTA
from stratagraph.memory.imports.memories.mem0 import MEM0
from stratagraph.memory.imports.memories.server_memory import SERVER_MEMORY
from stratagraph.store.model.errors import InvalidInput

MEMBRANE = MemoryFormat(
    key=membrane.KEY,
    name=membrane.NAME,
    system=membrane.KEY,
    documented=membrane.DOCUMENTED,
    difference=membrane.difference,
    read=None,  # its records are restored, not captured
    fields=membrane.FIELDS,
)
FORMATS: tuple[MemoryFormat, ...] = (LETTA, SERVER_MEMORY, GRAPHITI, LANGGRAPH_STORE, MEMBRANE, MEM0)  # the first fits
NOTES = "notes"  # what `--as` calls Markdown notes, which are told by their ending
NOTES_DOCUMENTED = "notes of Obsidian and Basic Memory (2025); front matter in YAML or TOML"


def format_of(rows: Sequence[Any], named: str | None = None) -> MemoryFormat:
    """Return the format of a file with these first rows; `named` is the one that the user says it has.

    Raises InvalidInput, which names the nearest format and the first difference from it.
    """
    candidates = [one for one in FORMATS if named in (None, one.key)]
    if not candidates:
        keys = ", ".join((*(one.key for one in FORMATS), NOTES))
        raise InvalidInput(f"--as: {str(named)[:40]!r} is not a format; use one of {keys}", path=["--as"])
    for row in rows:  # the first one may be damaged, and is then refused when it is read
        fitting = next((one for one in candidates if one.difference(row) is None), None)
        if fitting is not None:
            return fitting
    first = rows[0] if rows else None
    found = [(one, difference) for one in candidates if (difference := one.difference(first)) is not None]
    if named is not None:
        raise InvalidInput(f"is not of this format: {found[0][1].what}")
    fields = _fields_of(first)
    shared, nearest, difference = max(
        ((len(one.fields & fields), one, difference) for one, difference in found),
        key=lambda each: (each[0], each[2].share),
    )
    if not shared:
        names = ", ".join(one.name for one in FORMATS)
        raise InvalidInput(f"fits no known format: it has no field of {names}")
    raise InvalidInput(f"fits no known format; the nearest is {nearest.name}, but {difference.what}")


def _fields_of(row: Any) -> set[str]:
    """Return the names of the fields of a row, and of the objects at the beginning of its lists."""
    if not isinstance(row, dict):
        return set()
    firsts = [value[0] for value in row.values() if isinstance(value, list) and value]
    return {name for one in (row, *firsts) if isinstance(one, dict) for name in one}
