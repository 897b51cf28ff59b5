"""Records as Markdown notes: front matter, the text, and relations as links, as Obsidian reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.transfer.appendix_stream import WholeRecord
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.records import MemoryRecord

MAX_FILE_NAME = 120  # bytes of the record's name in it; file systems take 255 in all, a few 143
_NOT_IN_FILE_NAMES = re.compile(r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|#^\[\]\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+')
_NOT_FIRST = " .-~"  # hidden files, options of commands, and homes of users begin so


def note_name(id_: UUID, name: str | None) -> str:
    """Return the name of a record's note, without its ending: that of the record and the end of its id.

    >>> note_name(UUID(int=0xABC), "../Sam: who?")
    'Sam who 000000000abc'
    """
    words = _NOT_IN_FILE_NAMES.sub(" ", name or "").split()
    whole = " ".join(words).lstrip(_NOT_FIRST).encode()
    shown = whole[:MAX_FILE_NAME].decode(errors="ignore").strip()
    return f"{shown} {id_.hex[-12:]}" if shown else id_.hex[-12:]


def note_path(record: MemoryRecord) -> str:
    """Return the path of a record's note in the folder: one folder a type."""
    return f"{record.type.label}/{note_name(record.id, record.name)}.md"


def note_of(whole: WholeRecord, names: Mapping[UUID, str | None]) -> str:
    """Return the note of a record, given the names of the records to which it has relations."""
    record = whole.record
    fields = {
        "title": record.name or "",
        "id": str(record.id),
        "type": record.type.label,
        "scope": record.scope,
        "sensitivity": record.sensitivity.label,
        "state": None if record.state is RecordState.ACTIVE else record.state.label,
        "created": rfc3339(record.created_at),
        "occurred": rfc3339(record.occurred_at),
        "updated": rfc3339(record.updated_at),
        "valid_from": None if record.valid_from is None else rfc3339(record.valid_from),
        "valid_to": None if record.valid_to is None else rfc3339(record.valid_to),
        "tags": list(record.tags),
        "aliases": _aliases(record),
    }
    shown = {key: value for key, value in fields.items() if value not in (None, "", [])}
    front = "".join(f"{key}: {orjson.dumps(value).decode()}\n" for key, value in shown.items())  # JSON is YAML
    title = " ".join((record.name or str(record.id)).split())
    links = "".join(
        f"- {relation.predicate} [[{note_name(relation.target, names.get(relation.target))}]]\n"
        for relation in whole.relations
    )
    relations = f"\n## Relations\n\n{links}" if links else ""
    return f"---\n{front}---\n\n# {title}\n\n{(record.text or '').strip()}\n{relations}"


def _aliases(record: MemoryRecord) -> list[str]:
    if record.type is not MemoryType.ENTITY or record.payload is None:
        return []
    found: list[Any] = record.payload.get("aliases") or []
    return [one["value"] for one in found if isinstance(one, dict) and isinstance(one.get("value"), str)]
