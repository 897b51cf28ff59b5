"""Sealed records: their content is stored in blobs, and callers who may read them notice no difference."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson
import pytest
from fix_memory import Memory, trust_of, until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from stratagraph.memory.capture.service import Capture
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.audit.events import AuditEvent, fetch_audit, write_audit
from stratagraph.store.feed.changes import append_changes
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.shredding import shred
from stratagraph.store.keys.sealing.vault import Sealed, Vault
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.enums import AuditAction, Sensitivity, SourceKind
from stratagraph.store.model.errors import Misconfigured, StoreUnavailable, StratagraphError
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.key_rotation import Rotation
from stratagraph.store.records.reading import Reader

HIGH = Sensitivity.HIGH
TABLES = ("record", "record_history", "audit_note", "candidate")


async def all_rows_as_text(memory: Memory) -> str:
    """Return all rows of all tables, as text."""
    names = await memory.rows(
        "SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE c.relkind = 'r' AND n.nspname = 'public'",
    )
    texts = []
    for name in names:
        found = await memory.rows(f'SELECT t::text AS content FROM "{name["name"]}" t')  # noqa: S608 - from the catalogue
        texts += [row["content"] for row in found]
    return "\n".join(texts)


async def tenant_of(memory: Memory) -> Tenant:
    tenant = await memory.directory.tenant(memory.trust.tenant)
    assert tenant is not None
    return tenant


def another_process(memory: Memory, *, master: LocalMasterKey | None = None, **options: Any) -> Memory:
    """The same database, with separate caches, as another server process."""
    vault = Vault(memory.database, master or LocalMasterKey(bytes(32)), **options)
    directory = Directory(memory.database, vault)
    return replace(
        memory,
        directory=directory,
        capture=Capture(memory.database, directory, memory.clock, memory.capture._policy),
        lookup=type(memory.lookup)(memory.database, directory, memory.clock, memory.retrieve.log),
    )


async def revise(memory: Memory, edit: Edit, *, rationale: str | None = None) -> None:
    """Revise a record as the application does: lock, edit, write the audit entry and the feed entry."""
    memory.clock.forward(RESOLUTION * 1_000_000)
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.writing(caller.bounds) as connection:
        await connection.execute(text("SELECT 1 FROM record WHERE id = :id FOR UPDATE"), {"id": edit.id})
        changes = await update_records(connection, memory.directory, caller.tenant, [edit], at=memory.clock.now())
        if rationale is not None:
            event = AuditEvent(record=edit.id, action=AuditAction.REVISE, rationale=rationale)
            await write_audit(connection, caller.tenant, [event], actor="tester", at=memory.clock.now())
        await append_changes(connection, caller.tenant, changes)


async def test_a_sealed_record_is_stored_in_one_blob_and_reads_like_any_other(memory: Memory) -> None:
    kept = await memory.observe("Nightjar", "is", "a zeppelin", sensitivity=HIGH, reason_to_remember="the falcon asked")
    (row,) = await memory.rows("SELECT * FROM record WHERE id = :id", id=kept.primary.id)
    assert row["sealed"] is not None
    assert [row[name] for name in ("name", "text", "payload", "provenance", "interpretation")] == [None] * 5
    (note,) = await memory.rows("SELECT * FROM audit_note WHERE id = :id", id=kept.primary.id)
    assert (note["rationale"], note["sealed"] is not None) == (None, True)
    (trace,) = await memory.rows("SELECT * FROM candidate")
    assert (trace["source"], trace["input"]) == (None, None)
    stored = (await all_rows_as_text(memory)).lower()
    for word in ("nightjar", "zeppelin", "falcon"):
        assert word not in stored
        assert word.encode().hex() not in stored
    whole = await memory.lookup.record(memory.trust, kept.primary.id)
    assert whole is not None
    assert (whole.name, whole.payload, whole.provenance) == (
        kept.primary.name,
        {**(kept.primary.payload or {}), "revision": {"status": "active"}},
        kept.primary.provenance,
    )
    assert whole.interpretation == kept.primary.interpretation
    log = await memory.lookup.audit(memory.trust, [kept.primary.id])
    assert [entry.rationale for entry in log[kept.primary.id]] == ["the falcon asked"]
    found = await memory.retrieve.retrieve(memory.trust, RetrieveRequest(task_descriptor="which zeppelin is there?"))
    assert kept.primary.id in found.roots
    named = await memory.lookup.entities(memory.trust, "nightjar", scope=None, first=5)
    assert [entity.name for entity in named] == ["Nightjar"]


async def test_a_record_below_the_level_is_stored_in_plain_text(memory: Memory) -> None:
    kept = await memory.observe("Nightjar", "is", "a zeppelin", sensitivity=Sensitivity.MEDIUM)
    (row,) = await memory.rows("SELECT name, sealed FROM record WHERE id = :id", id=kept.primary.id)
    assert (row["name"], row["sealed"]) == ("Nightjar is a zeppelin", None)
    assert (await memory.rows("SELECT source FROM candidate"))[0]["source"] == "test"
    assert await memory.rows("SELECT 1 FROM data_key") == []


async def test_one_level_below_a_sealed_record_only_its_head_is_shown(memory: Memory) -> None:
    kept = await memory.turn("a zeppelin", sensitivity=HIGH)
    medium = await memory.lookup.record(trust_of(ceiling=Sensitivity.MEDIUM), kept.primary.id)
    assert medium is not None
    assert medium.redacted
    assert (medium.name, medium.payload, medium.provenance) == (None, None, None)
    assert await memory.lookup.record(trust_of(ceiling=Sensitivity.LOW), kept.primary.id) is None


async def test_an_episode_of_sealed_members_is_assembled_and_closed(memory: Memory) -> None:
    call = {"tool_name": "zeppelin_cli", "args": {"x": 1}, "result": "up", "thread_id": "kestrel"}
    await memory.turn("fly the zeppelin", thread="kestrel", sensitivity=HIGH)
    await memory.remember(SourceKind.TOOL_OUTPUT, call, sensitivity=HIGH)
    ended = await memory.remember(
        SourceKind.OUTCOME,
        {"thread_id": "kestrel", "outcome_status": "success", "reason": "the falcon landed"},
        sensitivity=HIGH,
    )
    whole = await memory.lookup.record(memory.trust, ended.primary.id)
    assert whole is not None
    assert whole.payload is not None
    assert whole.payload["outcome"] == "success"
    assert [event["event_kind"] for event in whole.payload["timeline"]] == ["agent_turn", "tool_output"]
    assert [node["tool"] for node in whole.payload["tool_graph"]] == ["zeppelin_cli"]
    assert "Tools used: zeppelin_cli" in (whole.text or "")
    log = await memory.lookup.audit(memory.trust, [whole.id])
    assert [entry.rationale for entry in log[whole.id]][-1] == "the falcon landed"
    stored = (await all_rows_as_text(memory)).lower()
    for word in ("zeppelin", "kestrel", "falcon"):
        assert word not in stored


async def test_sealed_facts_conflict_and_gain_evidence_like_others(memory: Memory) -> None:
    more = {"sensitivity": HIGH, "revision_policy": "replace"}
    first = await memory.observe("Nightjar", "flies_to", "Ghent", **more)
    again = await memory.observe("Nightjar", "flies_to", "Ghent", **more)
    assert again.primary.id == first.primary.id
    whole = await memory.lookup.record(memory.trust, first.primary.id)
    assert whole is not None
    assert whole.provenance is not None
    assert len(whole.provenance["sources"]) == 2
    second = await memory.observe("Nightjar", "flies_to", "Bruges", **more)
    before = await memory.lookup.record(memory.trust, first.primary.id)
    assert before is not None
    assert before.payload is not None
    assert before.payload["revision"].keys() == {"superseded_by"}
    assert second.primary.payload is not None
    assert second.primary.payload["revision"]["supersedes"] == str(first.primary.id)


async def test_a_working_record_and_its_history_are_sealed_again_at_each_update(memory: Memory) -> None:
    state = {"thread_id": "kestrel", "state": "planning", "next_actions": ["buy helium"]}
    kept = await memory.remember(SourceKind.WORKING_STATE, state, sensitivity=HIGH)
    for action in ("fill the balloon", "cast off"):
        done = await memory.remember(SourceKind.WORKING_STATE, {**state, "next_actions": [action]}, sensitivity=HIGH)
    assert done.primary.id == kept.primary.id
    assert done.primary.payload is not None
    assert done.primary.payload["next_actions"] == ["cast off"]
    past = await memory.rows("SELECT * FROM record_history WHERE id = :id ORDER BY row_version", id=kept.primary.id)
    blobs = [Sealed(id=row["id"], purpose="record", blob=bytes(row["sealed"])) for row in past]
    opened = [orjson.loads(content) for content in await (await tenant_of(memory)).keyring.open(blobs)]
    assert [content["payload"]["next_actions"] for content in opened] == [["buy helium"], ["fill the balloon"]]
    assert all(row["payload"] is None for row in past)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(["name", "text", "payload", "provenance", "interpretation"]),
        st.text(st.characters(min_codepoint=32, max_codepoint=500), max_size=20),
    ),
    st.booleans(),
)
async def test_an_edit_has_the_same_result_for_sealed_and_plain_records(
    memory: Memory, said: dict[str, str], revision: bool
) -> None:
    read = []
    for level in (Sensitivity.LOW, HIGH):
        kept = await memory.turn("before", sensitivity=level)
        given = {
            key: value if key in ("name", "text") else orjson.dumps({"kind": "episodic", "said": value}).decode()
            for key, value in said.items()
        }
        await revise(
            memory,
            Edit(id=kept.primary.id, confidence=0.25, is_revision=revision, **given),  # type: ignore[arg-type]
        )
        whole = await memory.lookup.record(memory.trust, kept.primary.id)
        assert whole is not None
        sources = [] if "provenance" in said else (whole.provenance or {})["sources"]
        for source in sources:
            source.pop("timestamp"), source.pop("ref")
        timeline = (whole.payload or {}).get("timeline") or []
        for event in timeline:
            event.pop("t"), event.pop("ref")
        read.append((whole.name, whole.text, whole.payload, whole.provenance, whole.interpretation, whole.version))
        assert whole.confidence == 0.25
    assert read[0] == read[1]


async def test_raising_the_sensitivity_seals_all_versions_in_the_same_transaction(memory: Memory) -> None:
    state = {"thread_id": "t", "state": "planning", "next_actions": ["ask the falcon"]}
    kept = await memory.remember(SourceKind.WORKING_STATE, state, reason_to_remember="for the zeppelin")
    await memory.remember(SourceKind.WORKING_STATE, {**state, "next_actions": ["wait"]})
    id_ = kept.primary.id
    await revise(memory, Edit(id=id_, sensitivity=int(HIGH)), rationale="the kestrel said so")
    (row,) = await memory.rows("SELECT sensitivity, sealed, name, row_version FROM record WHERE id = :id", id=id_)
    assert (row["sensitivity"], row["name"], row["row_version"]) == (int(HIGH), None, 3)
    past = await memory.rows("SELECT sealed, name, text, payload FROM record_history WHERE id = :id", id=id_)
    assert len(past) == 2
    assert all(one["sealed"] is not None and one["payload"] is None for one in past)
    assert [trace["source"] for trace in await memory.rows("SELECT source FROM candidate")] == [None, None]
    stored = await all_rows_as_text(memory)
    for word in ("falcon", "zeppelin", "kestrel"):
        assert word not in stored
    log = await memory.lookup.audit(memory.trust, [id_])
    assert [entry.rationale for entry in log[id_]] == ["for the zeppelin", None, "the kestrel said so"]
    assert ("record", id_) in {
        ("record", change["id"]) for change in await memory.rows("SELECT id FROM sync_log WHERE version = 3")
    }


async def test_a_failed_raise_of_the_sensitivity_leaves_the_record_plain(memory: Memory) -> None:
    kept = await memory.turn("plain words")
    caller = await memory.directory.resolve(memory.trust)
    edit = Edit(id=kept.primary.id, sensitivity=int(HIGH))

    async def fail() -> None:
        async with memory.database.writing(caller.bounds) as connection:
            await update_records(
                connection, memory.directory, caller.tenant, [edit], at=memory.clock.now() + RESOLUTION
            )
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    (row,) = await memory.rows("SELECT sealed, text FROM record WHERE id = :id", id=kept.primary.id)
    assert (row["sealed"], row["text"] is not None) == (None, True)


async def test_a_rationale_about_a_deleted_record_is_sealed(memory: Memory) -> None:
    kept = await memory.turn("plain words")
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.engine.begin() as connection:
        await connection.execute(text("DELETE FROM record WHERE id = :id"), {"id": kept.primary.id})
        event = AuditEvent(record=kept.primary.id, action=AuditAction.DELETE, rationale="the falcon must not know")
        await write_audit(connection, caller.tenant, [event], actor="tester", at=memory.clock.now())
        log = await fetch_audit(connection, caller, [kept.primary.id])
    assert [entry.rationale for entry in log[kept.primary.id]][-1] == "the falcon must not know"
    assert "falcon" not in await all_rows_as_text(memory)


async def test_a_failed_capture_keeps_its_input_sealed(memory: Memory) -> None:
    async with memory.database.engine.begin() as connection:
        await connection.execute(
            text("CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$")
        )
        await connection.execute(
            text(
                "CREATE TRIGGER fail BEFORE INSERT ON candidate FOR EACH ROW WHEN (NEW.state = 'committed')"
                " EXECUTE FUNCTION fail()"
            )
        )
    with pytest.raises(StoreUnavailable, match="kept as candidate"):
        await memory.turn("the zeppelin burns", sensitivity=HIGH)
    (trace,) = await memory.rows("SELECT * FROM candidate")
    assert (trace["state"], trace["source"], trace["input"]) == ("failed", None, None)
    (content,) = await (await tenant_of(memory)).keyring.open(
        [Sealed(id=trace["id"], purpose="candidate", blob=bytes(trace["sealed"]))]
    )
    kept = orjson.loads(content)
    assert kept["source"] == "test"
    assert kept["input"]["content"]["text"] == "the zeppelin burns"
    assert "zeppelin" not in await all_rows_as_text(memory)


async def test_blobs_do_not_open_in_other_rows(memory: Memory) -> None:
    one, other = await memory.turn("one", sensitivity=HIGH), await memory.turn("other", sensitivity=HIGH)
    async with memory.database.engine.begin() as connection:
        await connection.execute(
            text("UPDATE record SET sealed = (SELECT sealed FROM record WHERE id = :one) WHERE id = :other"),
            {"one": one.primary.id, "other": other.primary.id},
        )
    with pytest.raises(StratagraphError, match=f"sealed content of {other.primary.id} does not open"):
        await memory.lookup.record(memory.trust, other.primary.id)


async def test_without_a_master_key_nothing_sensitive_is_written(memory: Memory) -> None:
    directory = Directory(memory.database)
    capture = Capture(memory.database, directory, memory.clock, memory.capture._policy)
    with pytest.raises(Misconfigured, match="stratagraph keys generate"):
        await replace(memory, capture=capture).turn("secret", sensitivity=HIGH)
    assert await memory.rows("SELECT 1 FROM record") == []
    await replace(memory, capture=capture).turn("not secret")


async def test_index_keys_are_wrapped_once_a_master_key_exists(memory: Memory) -> None:
    off = Directory(memory.database, Vault(memory.database, seal_from=None))
    plain = await off.tenant("acme", create=True)
    assert plain is not None
    assert (await memory.rows("SELECT index_key, wrapped_by FROM tenant")) == [
        {"index_key": plain.index_key, "wrapped_by": None}
    ]
    master = LocalMasterKey(bytes(32))
    vault = Vault(memory.database, master)
    await vault.check()
    (row,) = await memory.rows("SELECT index_key, wrapped_by FROM tenant")
    assert row["wrapped_by"] == master.name
    assert plain.index_key not in bytes(row["index_key"])
    assert (await tenant_of(memory)).index_key == plain.index_key
    assert "index_key" not in repr(plain)
    with pytest.raises(Misconfigured, match=re.escape(master.name)):
        await Vault(memory.database, LocalMasterKey(b"w" * 32)).check()
    with pytest.raises(Misconfigured, match="none"):
        await Vault(memory.database, seal_from=None).check()


async def test_processes_that_use_a_new_tenant_concurrently_agree_on_its_first_key(memory: Memory) -> None:
    await memory.turn("low")
    several = [another_process(memory) for _ in range(4)]
    kept = await asyncio.gather(*(one.turn(f"secret {n}", sensitivity=HIGH) for n, one in enumerate(several)))
    assert [row["id"] for row in await memory.rows("SELECT id FROM data_key")] == [1]
    for captured in kept:
        assert (await memory.lookup.record(memory.trust, captured.primary.id)) is not None


@pytest.fixture
async def sealed(memory: Memory) -> list[UUID]:
    """Records with history, notes and a failed candidate's blob, all sealed by key 1."""
    ids = []
    for number in range(6):
        state = {"thread_id": f"t{number}", "state": "planning", "next_actions": [f"first {number}"]}
        kept = await memory.remember(SourceKind.WORKING_STATE, state, sensitivity=HIGH, reason_to_remember="why")
        await memory.remember(SourceKind.WORKING_STATE, {**state, "next_actions": ["second"]}, sensitivity=HIGH)
        ids.append(kept.primary.id)
    return ids


def key_ids(found: list[Any]) -> set[int]:
    return {int.from_bytes(bytes(row["sealed"])[1:5], "big") for row in found}


async def blobs(memory: Memory) -> list[Any]:
    return [
        row
        for table in TABLES
        for row in await memory.rows(f"SELECT sealed FROM {table} WHERE sealed IS NOT NULL")  # noqa: S608 - ours
    ]


async def test_rotation_reseals_every_row_and_drops_the_old_key(memory: Memory, sealed: list[UUID]) -> None:
    stale = another_process(memory)
    assert await stale.lookup.record(memory.trust, sealed[0]) is not None  # its cache now has key 1 only
    before = {row["id"]: row for row in await memory.rows("SELECT * FROM record")}
    written = len(await memory.rows("SELECT 1 FROM sync_log"))
    rotation = Rotation(memory.database, memory.directory, memory.clock)
    tenant = await tenant_of(memory)
    waiting = await rotation.count_rows_to_seal(tenant)
    progress: list[int] = []
    done = await rotation.rotate(tenant, progress.append)
    assert (done.key, done.dropped, done.continued) == (2, 1, False)
    assert done.resealed == waiting == sum(progress) == len(await blobs(memory)) == 18
    assert key_ids(await blobs(memory)) == {2}
    assert [row["id"] for row in await memory.rows("SELECT id FROM data_key")] == [2]
    for row in await memory.rows("SELECT * FROM record"):
        old = dict(before[row["id"]])
        assert old.pop("sealed") != row["sealed"]
        assert old == {key: value for key, value in row.items() if key != "sealed"}
    assert len(await memory.rows("SELECT 1 FROM sync_log")) == written
    for one in (memory, stale):
        whole = await one.lookup.record(memory.trust, sealed[0])
        assert whole is not None
        assert whole.payload is not None
        assert whole.payload["next_actions"] == ["second"]
    await stale.turn("written by a process that knew the old key", sensitivity=HIGH)
    assert key_ids(await blobs(memory)) == {2}
    (use,) = await rotation.list_keys()
    assert (use.tenant, use.id, use.newest, use.rows["records"], use.rows["history"]) == ("acme", 2, True, 7, 6)


async def test_a_killed_rotation_is_resumed(
    memory: Memory, sealed: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.records.key_rotation.BATCH", 4)
    rotation = Rotation(memory.database, memory.directory, memory.clock)
    tenant = await tenant_of(memory)

    class Killed(Exception):
        pass

    def kill(_: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        await rotation.rotate(tenant, kill)
    assert key_ids(await blobs(memory)) == {1, 2}
    assert [use.newest for use in await rotation.list_keys()] == [False, True]
    for id_ in sealed:
        assert await memory.lookup.record(memory.trust, id_) is not None
    again = another_process(memory)
    there = await again.directory.tenant("acme")
    assert there is not None
    done = await Rotation(memory.database, again.directory, memory.clock).rotate(there, lambda _: None)
    assert (done.key, done.resealed, done.dropped, done.continued) == (2, 14, 1, True)
    assert key_ids(await blobs(memory)) == {2}


async def test_concurrent_writers_and_rotations_lose_no_record(
    memory: Memory, sealed: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stratagraph.store.records.key_rotation.BATCH", 2)
    writers = [another_process(memory) for _ in range(2)]
    written: list[UUID] = []
    rotated = asyncio.Event()

    async def write(writer: Memory, number: int) -> None:
        turn = 0
        while turn < 5 or not rotated.is_set():
            turn += 1
            state = {"thread_id": f"t{number}", "state": "executing", "next_actions": [f"{turn}"]}
            await writer.remember(SourceKind.WORKING_STATE, state, sensitivity=HIGH)
            written.append((await writer.turn(f"turn {turn}", sensitivity=HIGH)).primary.id)

    async def rotate() -> None:
        rotation = Rotation(memory.database, memory.directory, memory.clock)
        for _ in range(2):
            await rotation.rotate(await tenant_of(memory), lambda _: None)
        rotated.set()

    async with asyncio.timeout(60):
        await asyncio.gather(rotate(), *(write(writer, number) for number, writer in enumerate(writers)))
    assert [row["id"] for row in await memory.rows("SELECT id FROM data_key")] == [3]
    assert key_ids(await blobs(memory)) == {3}
    reader = another_process(memory)
    caller = await reader.directory.resolve(memory.trust)
    async with memory.database.reading(caller.bounds) as connection:
        found = await Reader(connection, reader.directory, caller, memory.clock.now()).records({*sealed, *written})
    assert len(found) == len({*sealed, *written})


async def test_an_old_key_is_kept_while_a_writer_still_seals_with_it(memory: Memory, sealed: list[UUID]) -> None:
    rotation = Rotation(memory.database, memory.directory, memory.clock)
    tenant = await tenant_of(memory)
    writer = another_process(memory)
    caller = await writer.directory.resolve(memory.trust)
    async with memory.database.writing(caller.bounds) as connection:
        sealer = await caller.tenant.keyring.sealer(connection)
        assert sealer.key_id == 1
        rotating = asyncio.create_task(rotation.rotate(tenant, lambda _: None))
        waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%data_key%'"
        await until(lambda: memory.rows(waits))
        blob = sealer.seal(
            sealed[0],
            "record",
            orjson.dumps(
                {"name": "late", "text": "", "payload": {"kind": "x"}, "provenance": {}, "interpretation": None}
            ),
        )
        await connection.execute(
            text("UPDATE record SET sealed = :blob WHERE id = :id"), {"blob": blob, "id": sealed[0]}
        )
    done = await rotating
    assert done.resealed == 19  # 18 rows, and once more the row that the writer changed late
    whole = await memory.lookup.record(memory.trust, sealed[0])
    assert whole is not None
    assert whole.name == "late"


async def test_rotation_also_seals_rows_written_before_encryption_was_on(memory: Memory) -> None:
    before = another_process(memory, seal_from=None)
    kept = await before.turn("the zeppelin of old", sensitivity=HIGH, reason_to_remember="falcon")
    assert "zeppelin" in await all_rows_as_text(memory)
    rotation = Rotation(memory.database, memory.directory, memory.clock)
    tenant = await tenant_of(memory)
    assert await rotation.count_rows_to_seal(tenant) == 1
    await rotation.rotate(tenant, lambda _: None)
    stored = await all_rows_as_text(memory)
    assert "zeppelin" not in stored
    assert "falcon" not in stored
    whole = await memory.lookup.record(memory.trust, kept.primary.id)
    assert whole is not None
    assert (whole.text, whole.version) == (kept.primary.text, 1)


async def test_the_master_key_is_exchanged_without_rewriting_sealed_rows(memory: Memory, sealed: list[UUID]) -> None:
    old, new = LocalMasterKey(bytes(32)), LocalMasterKey(b"n" * 32)
    stored = {bytes(row["sealed"]) for row in await blobs(memory)}
    both = Vault(memory.database, new, previous=old)
    await both.check()
    directory = Directory(memory.database, both)
    progress: list[int] = []
    assert await Rotation(memory.database, directory, memory.clock).rewrap(progress.append) == sum(progress) == 2
    assert {bytes(row["sealed"]) for row in await blobs(memory)} == stored
    with pytest.raises(Misconfigured, match=re.escape(new.name)):
        await Vault(memory.database, old).check()
    alone = another_process(memory, master=new)
    assert await alone.lookup.record(memory.trust, sealed[0]) is not None


async def test_shredding_deletes_the_keys_irrecoverably(memory: Memory, sealed: list[UUID]) -> None:
    tenant = await tenant_of(memory)
    (kept,) = await memory.rows("SELECT sealed FROM record WHERE id = :id", id=sealed[0])
    async with memory.database.engine.begin() as connection:
        assert await shred(connection, memory.directory, tenant) == 1
    memory.directory.forget(tenant)
    assert await memory.rows("SELECT 1 FROM data_key") == []
    with pytest.raises(StratagraphError, match="which does not exist"):
        await memory.lookup.record(memory.trust, sealed[0])
    after = await tenant_of(memory)
    assert after.index_key != tenant.index_key
    # A process that still has the old key of the same number does not seal with it.
    fresh = await memory.turn("after", sensitivity=HIGH)
    assert await another_process(memory).lookup.record(memory.trust, fresh.primary.id) is not None
    with pytest.raises(StratagraphError, match="does not open"):
        await after.keyring.open([Sealed(id=sealed[0], purpose="record", blob=bytes(kept["sealed"]))])


async def test_shredding_is_rolled_back_with_its_transaction(memory: Memory, sealed: list[UUID]) -> None:
    tenant = await tenant_of(memory)

    async def fail() -> None:
        async with memory.database.engine.begin() as connection:
            await shred(connection, memory.directory, tenant)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert (await tenant_of(memory)).index_key == tenant.index_key
    assert await memory.lookup.record(memory.trust, sealed[0]) is not None


async def test_the_number_of_statements_does_not_grow_with_the_sealed_rows(memory: Memory, sealed: list[UUID]) -> None:
    await memory.lookup.record(memory.trust, sealed[0])

    async def statements(ids: list[UUID], database: Database = memory.database) -> int:
        before = database.statements
        caller = await memory.directory.resolve(memory.trust)
        async with database.reading(caller.bounds) as connection:
            await Reader(connection, memory.directory, caller, memory.clock.now()).records(ids)
        return database.statements - before

    few = await statements(sealed[:1])
    assert await statements(sealed) <= few
