"""A memory with artifacts in files, and a search through everything that is stored, for tests of erasing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fix_jobs import server_of
from fix_memory import Memory, trust_of

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.erase.request import Erase, ErasureResult
from stratagraph.memory.erase.service import Erasure
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.revise.request import Supersede
from stratagraph.service.embedded_postgres import postgres_binaries
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.audit.verification import verify_chains
from stratagraph.store.erasure.receipts import Receipt
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.trust import Trust
from stratagraph.store.records.failed_captures import insert_failed_captures

WHY = "ticket 4711"


@dataclass
class Store:
    """A memory with artifacts in a directory, and a search through everything that is stored."""

    memory: Memory
    files: Path
    url: str
    artifacts: Artifacts = field(init=False)
    erasure: Erasure = field(init=False)

    def __post_init__(self) -> None:
        memory = self.memory
        self.artifacts = Artifacts(memory.database, memory.directory, memory.clock, Blobs.below(self.files))
        self.erasure = Erasure(memory.database, memory.directory, memory.clock, self.artifacts)

    async def put(self, data: bytes, trust: Trust | None = None) -> str:
        async def stream() -> AsyncIterator[bytes]:
            yield data

        return (await self.artifacts.put(trust or self.memory.trust, stream())).uri

    async def run_jobs(self) -> None:
        memory = self.memory
        memory.clock.forward(timedelta(hours=2))
        await server_of(memory, artifacts=self.artifacts).run_once()

    async def erase(self, trust: Trust | None = None, **what: Any) -> Receipt:
        return (await self.erase_and_return_result(trust, **what)).receipt

    async def erase_and_return_result(self, trust: Trust | None = None, **what: Any) -> ErasureResult:
        self.memory.clock.forward(timedelta(seconds=1))
        return await self.erasure.erase(trust or self.memory.trust, Erase(**{"rationale": WHY, **what}))

    async def everything_stored(self) -> str:
        """Return everything that is stored, as one text: every column of every table, a dump, the names and bytes of
        all artifacts, and the decrypted content of encrypted records."""
        memory, texts = self.memory, []
        for column in await memory.rows(
            "SELECT c.relname AS table, a.attname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace AND a.attnum > 0"
            " AND NOT a.attisdropped",
        ):
            found = await memory.rows(f'SELECT "{column["name"]}"::text AS value FROM "{column["table"]}"')  # noqa: S608 - from the catalogue
            texts += [row["value"] or "" for row in found]
        dump = await asyncio.create_subprocess_exec(
            str(postgres_binaries() / "pg_dump"), self.url, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await dump.communicate()
        assert dump.returncode == 0
        texts.append(out.decode())
        texts += [
            f"{path} {path.read_bytes().decode(errors='replace')}" for path in self.files.rglob("*") if path.is_file()
        ]
        texts += await self.decrypted()
        return "\n".join(texts)

    async def tables(self) -> dict[str, dict[str, str]]:
        """Return the tables, from the catalog so that no new one is forgotten, with their columns and types."""
        found = await self.memory.rows(
            "SELECT c.relname AS name, jsonb_object_agg(a.attname, format_type(a.atttypid, NULL)) AS columns"
            " FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
            " WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace GROUP BY c.relname",
        )
        return {row["name"]: row["columns"] for row in found}

    async def holding(self, words: Collection[str]) -> dict[str, set[str]]:
        """Return the columns that hold one of `words` in any case, as text or as bytes, and the words of each."""
        found: dict[str, set[str]] = {}
        for table, columns in (await self.tables()).items():
            # Escaped bytes show the ASCII characters among them as they are.
            values = [
                f"encode(\"{name}\", 'escape')" if kind == "bytea" else f'"{name}"::text'
                for name, kind in columns.items()
            ]
            for row in await self.memory.rows(f"SELECT ARRAY[{', '.join(values)}] AS columns FROM {table}"):  # noqa: S608
                for column, value in zip(columns, row["columns"], strict=True):
                    text_ = (value or "").lower()
                    for word in words:
                        if word in text_:
                            found.setdefault(f"{table}.{column}", set()).add(word)
        return found

    async def decrypted(self) -> list[str]:
        """Return the decrypted content of every record that is stored encrypted."""
        memory, texts = self.memory, []
        for row in await memory.rows("SELECT name FROM tenant"):
            trust = trust_of(tenant=row["name"])
            page = await memory.lookup.records(trust, first=100)
            texts += [
                f"{record.name} {record.text} {record.payload} {record.provenance}"
                for record in page.records
                if record.sensitivity >= Sensitivity.HIGH
            ]
        return texts

    async def audit_chain_is_valid(self) -> bool:
        found = await verify_chains(self.memory.database, self.memory.directory.vault)
        return found.whole and found.entries > 0

    async def has(self, record: UUID) -> bool:
        return bool(await self.memory.rows("SELECT 1 FROM record WHERE id = :id", id=record))


@pytest.fixture
def store(memory: Memory, tmp_path: Path, database_url: str) -> Store:
    return Store(memory, tmp_path / "artifacts", database_url)


def source(record: UUID) -> list[dict[str, Any]]:
    return [{"source_type": "record", "source_id": str(record)}]


async def fail_to_capture(memory: Memory, request: CaptureRequest, trust: Trust | None = None) -> None:
    """Store a failed candidate, as an internal failure during a capture does."""
    trust = trust or memory.trust
    caller = await memory.directory.resolve(trust)
    scope = trust.scope_for_write(request.scope)
    scopes = await memory.directory.scopes(caller.tenant, {scope}, create=True)
    async with memory.database.writing(caller.bounds) as connection:
        row = {
            "id": new_id(),
            "source": request.source,
            "source_kind": request.source_kind.value,
            "scope": scopes[scope],
            "sensitivity": request.sensitivity or Sensitivity.LOW,
            "input": request.as_stored_json(),
        }
        await insert_failed_captures(connection, caller, [row], stage="commit", error="X", at=memory.clock.now())


async def rename(memory: Memory, entity: UUID, name: str, **more: Any) -> None:
    payload = {"kind": "entity", "canonical_name": name, "primary_type": "Person", **more}
    await memory.revision.revise(memory.trust, Supersede(record_id=entity, payload=payload, rationale="more details"))


async def entity_named(memory: Memory, name: str, trust: Trust | None = None) -> UUID:
    (found,) = await memory.lookup.entities(trust or memory.trust, name, scope=None, first=9)
    return found.id
