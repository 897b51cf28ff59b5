"""Fixtures for moving records between instances: a second memory, exports of both, and their import."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import psycopg
import pytest
from fix_memory import Memory, fresh_database, memory_of
from obstore.store import MemoryStore

from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.transfer.exports import ExportRequest, Exports
from stratagraph.memory.transfer.new_ids import IdSet, NewIds
from stratagraph.memory.transfer.restoration_report import RestorationReport
from stratagraph.memory.transfer.restoring import RecordImport
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.exported import EndLine, line_bytes
from stratagraph.store.postgres.database import Database


@dataclass(slots=True)
class Transfer:
    """Exports of memories into files of a folder, and imports of them."""

    folder: Path
    stores: dict[int, Artifacts] = field(default_factory=dict)

    def artifacts(self, memory: Memory) -> Artifacts:
        """Return the artifacts of a memory, which are kept as long as the test runs."""
        if id(memory.database) not in self.stores:
            parts = (memory.database, memory.directory, memory.clock)
            self.stores[id(memory.database)] = Artifacts(*parts, Blobs(MemoryStore()))
        return self.stores[id(memory.database)]

    async def text(self, memory: Memory) -> bytes:
        """Return the bytes of an export of everything that the memory's default caller may read."""
        exports = Exports(memory.database, memory.directory, memory.clock, self.artifacts(memory))
        async with exports.open(memory.trust, ExportRequest()) as export:
            return b"".join([chunk.data async for chunk in export.chunks()])

    async def exported(self, memory: Memory, name: str = "export.jsonl") -> Path:
        """Export a memory into a file of the folder."""
        return self.file(await self.text(memory), name)

    def file(self, text: bytes, name: str = "export.jsonl") -> Path:
        path = self.folder / name
        path.write_bytes(text)
        return path

    def importer(self, memory: Memory) -> RecordImport:
        return RecordImport(memory.database, memory.directory, self.artifacts(memory))

    async def imported(self, memory: Memory, path: Path, **options: Any) -> RestorationReport:
        """Import a file into a memory, as its default caller."""
        return await self.importer(memory).run(memory.trust, path, **options)


def sealed_file(lines: Iterable[bytes]) -> bytes:
    """Return lines with the last line that fits them."""
    every = list(lines)
    counts = Counter(str(orjson.loads(line).get("kind")) for line in every)
    body = b"".join(every)
    return body + line_bytes(EndLine(counts=dict(sorted(counts.items())), sha256=hashlib.sha256(body).hexdigest()))


def copied(lines: Sequence[dict[str, Any]], tenant: Tenant, number: int) -> list[dict[str, Any]]:
    """Return a copy of lines that contradicts no other copy: with ids and scopes of its own."""
    ids = IdSet()
    for id_ in sorted(UUID(line["id"]) for line in lines if "id" in line):
        ids.add(id_)
    new = NewIds(replace(tenant, index_key=number.to_bytes(32, "big")), [ids])
    made: list[dict[str, Any]] = [orjson.loads(new.applied(orjson.dumps(line))) for line in lines]
    return [
        line | {"scope": f"{line.get('scope', '')}#{number}"} if line["kind"] == "record" else line for line in made
    ]


@pytest.fixture
def transfer(tmp_path: Path) -> Transfer:
    return Transfer(tmp_path)


@pytest.fixture
async def other(postgres_url: str, template_database: str, administrator: psycopg.Connection) -> AsyncIterator[Memory]:
    """A memory in another database, with keys of its own."""
    with fresh_database(postgres_url, template_database, administrator) as url:
        async with Database(url) as database:
            yield memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes([7]) * 32))))


# What this instance computes of restored records, by keys of its own, must be what the other one has. Row versions are
# numbered anew, and learning's runs are not in an export.
_COMPARED = {
    "record": "to_jsonb(t) - '{tenant,scope,row_version,sealed}'::text[]",
    "fact": "to_jsonb(t) - '{tenant,scope}'::text[]",
    "fact_trim": "to_jsonb(t) - '{tenant}'::text[]",
    "salience": "to_jsonb(t) - '{tenant,check_at}'::text[]",
    "lifecycle_history": "to_jsonb(t) - '{tenant}'::text[]",
    "record_history": "to_jsonb(t) - '{tenant,scope,row_version,sealed}'::text[]",
    "relation": "to_jsonb(t) - '{tenant,predicate,row_version,source_acl,target_acl,source_until,target_until,"
    "source_past,target_past}'::text[]",
    "entity_term": "to_jsonb(t) - '{tenant,scope}'::text[]",
    "episode": "to_jsonb(t) - '{tenant,scope,learned_by,learn_after,learned_events}'::text[]",
    "episode_event": "to_jsonb(t) - '{tenant}'::text[]",
    "audit": "to_jsonb(t) - '{tenant,hash,note_hash}'::text[]",
    "lesson_use": "to_jsonb(t) - '{tenant}'::text[]",
    "fact_predicate": "to_jsonb(t) - '{tenant}'::text[]",
    "artifact_reference": "to_jsonb(t) - '{tenant}'::text[]",
}


async def share_index_key(memory: Memory, other: Memory) -> None:
    """Let both memories compute the same keyed hashes, so that their rows can be compared."""
    for one in (memory, other):
        await one.directory.resolve(one.trust)
        await one.rows("UPDATE tenant SET index_key = :key, wrapped_by = NULL", key=bytes(range(32)))
        tenant = await one.directory.tenant(one.trust.tenant)
        assert tenant is not None
        one.directory.forget(tenant)


async def rows_of(memory: Memory, table: str) -> list[str]:
    """Return the rows of a table as they are comparable between instances."""
    scope = "NULL"
    if "scope" in _COMPARED[table]:
        scope = "(SELECT name FROM scope s WHERE s.id = t.scope)"
    found = await memory.rows(f"SELECT {_COMPARED[table]} AS row, {scope} AS scope FROM {table} t")  # noqa: S608
    return sorted(orjson.dumps([row["row"], row["scope"]], option=orjson.OPT_SORT_KEYS).decode() for row in found)


async def differences(memory: Memory, other: Memory) -> dict[str, list[str]]:
    """Return the rows that only one of two memories has, by table."""
    found = {}
    for table in _COMPARED:
        ours, theirs = Counter(await rows_of(memory, table)), Counter(await rows_of(other, table))
        if ours != theirs:
            found[table] = _different(sorted(ours - theirs), sorted(theirs - ours))
    return found


def _different(ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Return what differs, by column where as many rows are left of both."""
    if len(ours) != len(theirs):
        return [f"- {row}" for row in ours] + [f"+ {row}" for row in theirs]
    pairs = [(orjson.loads(one)[0], orjson.loads(other)[0]) for one, other in zip(ours, theirs, strict=True)]
    return [
        f"{one.get('id')} {one.get('name')}: {key} {one[key]} / {other.get(key)}"
        for one, other in pairs
        for key in one
        if one[key] != other.get(key)
    ]
