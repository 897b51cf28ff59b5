"""Versions of sealed skills: a capture or learning decrypts no superseded one that it does not need."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest
from fix_memory import Memory
from sqlalchemy import text

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.revise.request import Retract
from stratagraph.store.keys.sealing.vault import Keyring, Sealed
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.episodes import Thread
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.procedures import lock_procedures


async def capture_sealed(memory: Memory, step: str, version: str | None = None) -> MemoryRecord:
    content = {"skill_name": "deploy", "triggers": [{"signal": "s"}], "recipe": [{"step": step}]}
    request = CaptureRequest(
        source="test",
        source_kind=SourceKind.OBSERVATION,
        content=content | ({"version": version} if version is not None else {}),
        proposed_type=MemoryType.COMPETENCE,
        sensitivity=Sensitivity.HIGH,
    )
    memory.clock.forward(timedelta(seconds=1))
    return (await memory.capture.capture(memory.trust, [request]))[0].primary


def count_opened(monkeypatch: pytest.MonkeyPatch) -> list[UUID]:
    """Return a list to which the id of each blob is added that is decrypted from now on."""
    opened: list[UUID] = []
    decrypt = Keyring.open

    async def counted(keyring: Keyring, blobs: Sequence[Sealed]) -> list[bytes]:
        opened.extend(blob.id for blob in blobs)
        return await decrypt(keyring, blobs)

    monkeypatch.setattr(Keyring, "open", counted)
    return opened


async def test_superseded_versions_are_not_decrypted_for_a_capture_or_for_learning(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new version, a repeated one and a refused one are compared with superseded sealed ones by keyed hashes."""
    records = [await capture_sealed(memory, f"step {number}") for number in range(4)]
    superseded = {record.id for record in records[:-1]}
    caller = await memory.directory.resolve(memory.trust)
    key = handle_key(caller.tenant, MemoryType.COMPETENCE, "deploy")
    name = Thread((await memory.directory.scopes(caller.tenant, {""}, create=False))[""], int(Sensitivity.HIGH), key)
    opened = count_opened(monkeypatch)
    assert (await capture_sealed(memory, "step 3")).id == records[-1].id
    with pytest.raises(InvalidInput, match="a later one superseded it"):
        await capture_sealed(memory, "step 9", version="2")
    new = [await capture_sealed(memory, "step 4"), await capture_sealed(memory, "step 5", version="7")]
    new.append(await capture_sealed(memory, "step 6"))
    assert [(record.payload or {})["version"] for record in new] == ["5", "7", "8"]
    async with memory.database.writing(caller.bounds) as connection:
        found = (await lock_procedures(connection, caller.tenant, [name]))[name]
    assert len(found) == 7
    assert not superseded & set(opened)


async def test_of_a_skill_without_a_current_version_the_newest_is_decrypted(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [await capture_sealed(memory, f"step {number}") for number in range(3)]
    await memory.revision.revise(memory.trust, Retract(record_id=records[-1].id, rationale="wrong"))
    opened = count_opened(monkeypatch)
    assert ((await capture_sealed(memory, "another")).payload or {})["version"] == "3"
    assert [id_ for id_ in opened if id_ in {record.id for record in records}] == [records[1].id]


async def test_versions_of_an_earlier_release_are_decrypted_to_be_compared(memory: Memory) -> None:
    for number in range(3):
        await capture_sealed(memory, f"step {number}")
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("UPDATE record SET version_key = NULL"))
    with pytest.raises(InvalidInput, match="a later one superseded it"):
        await capture_sealed(memory, "another", version="2")
