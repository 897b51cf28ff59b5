"""Importing exports: into an empty instance, a filled one, again, as a copy, and after an interruption."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from uuid import UUID

import orjson
import pytest
from exported_store import fill
from fix_learning import capture_episode, learn
from fix_memory import EVIDENCE, Memory
from fix_transfer import Transfer, copied, differences, sealed_file, share_index_key
from story import SCOPE

from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Supersede
from stratagraph.memory.transfer import restored_records
from stratagraph.memory.transfer.import_session import ImportSession
from stratagraph.store.audit.verification import verify_chains
from stratagraph.store.model.enums import Access, RecordState, SourceKind
from stratagraph.store.model.errors import Forbidden, StoreUnavailable
from stratagraph.store.transfer.restorable import Restorable

SORTED = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE


async def test_an_import_leaves_the_rows_that_captures_left(memory: Memory, other: Memory, transfer: Transfer) -> None:
    await share_index_key(memory, other)
    await fill(memory)
    before = await transfer.text(memory)

    planned = await transfer.imported(other, transfer.file(before), dry_run=True)
    assert await rows_in(other) == 0
    report = await transfer.imported(other, transfer.file(before))

    assert report.refused == []
    assert replace(planned, is_dry_run=False, episodes=report.episodes) == report
    assert await transfer.text(other) == before
    assert await differences(memory, other) == {}
    assert (await verify_chains(other.database, other.directory.vault)).whole
    again = await transfer.imported(other, transfer.file(before))
    assert (again.unchanged, again.refused) == (report.stored.total(), [])
    assert (again.stored, again.relations, again.tombstones, again.episodes) == ({}, 0, 0, 0)
    assert await transfer.text(other) == before


async def rows_in(memory: Memory) -> int:
    """Return the number of rows that an import might write."""
    tables = ("record", "relation", "audit", "audit_head", "tombstone", "entity_term", "fact_slot", "word_change")
    return sum([await memory.value(f"SELECT count(*) FROM {table}") for table in (*tables, "sync_log", "scope")])  # noqa: S608


async def test_questions_have_the_same_answers_after_an_import(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    await fill(memory)
    await transfer.imported(other, await transfer.exported(memory))
    other.clock.at = memory.clock.at
    ids = [row["id"] for row in await memory.rows("SELECT id FROM record ORDER BY id")]
    instants = [row["at"] for row in await memory.rows("SELECT DISTINCT at FROM audit ORDER BY at")][::29]

    for id_ in ids:
        assert await other.record(id_) == await memory.record(id_)
        for at in instants:
            assert await other.lookup.record(other.trust, id_, as_of=at) == await memory.lookup.record(
                memory.trust, id_, as_of=at
            )
    for question in ("Lantern sessions Redis", "How do I ship the gateway?", "the clock of Keycloak", "Vault"):
        request = RetrieveRequest(task_descriptor=question)
        ours = await memory.retrieve.retrieve(memory.trust, request)
        theirs = await other.retrieve.retrieve(other.trust, request)
        assert [node.record for node in theirs.nodes] == [node.record for node in ours.nodes]
        assert {edge.id for edge in theirs.edges} == {edge.id for edge in ours.edges}


async def test_three_succeeding_values_stay_three_succeeding_values(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    for store in ("Postgres", "Memcached", "Redis"):
        await memory.observe("Lantern", "keeps_sessions_in", store, revision_policy="replace")
    await transfer.imported(other, await transfer.exported(memory))

    rows = await other.rows("SELECT payload ->> 'object' AS value, state FROM record WHERE type = 4 ORDER BY id")
    assert [(row["value"], row["state"]) for row in rows] == [("Postgres", 3), ("Memcached", 3), ("Redis", 1)]
    newest = await other.value("SELECT id FROM record WHERE type = 4 AND state = 1")
    payload = {"subject": "Lantern", "predicate": "keeps_sessions_in", "object": "SQLite"}
    revised = await other.revise(Supersede(record_id=newest, rationale="smaller", payload=payload, evidence=EVIDENCE))
    assert revised.record.state is RecordState.ACTIVE


async def test_an_imported_store_goes_on_living(memory: Memory, other: Memory, transfer: Transfer) -> None:
    await fill(memory)
    await transfer.imported(other, await transfer.exported(memory))
    other.clock.at = memory.clock.at

    called = await other.remember(
        SourceKind.TOOL_OUTPUT,
        {"thread_id": "open task", "tool_name": "cat", "call_id": "c2", "depends_on": ["c1"], "result": 2},
    )
    assert {edge.predicate for edge in called.edges} >= {"part_of", "follows", "depends_on"}
    assert called.warnings == ()
    closed = await other.remember(SourceKind.OUTCOME, {"thread_id": "open task", "outcome_status": "success"})
    assert closed.primary.payload is not None
    skills = await other.value("SELECT count(*) FROM record WHERE type = 5 AND state = 1 AND learned_state IS NOT NULL")
    assert skills > 0
    for number in range(4, 6):
        await capture_episode(other, f"look up {number}")
    assert await learn(other) is not None
    again = await other.value("SELECT count(*) FROM record WHERE type = 5 AND state = 1 AND learned_state IS NOT NULL")
    assert again == skills
    assert (await verify_chains(other.database, other.directory.vault)).whole


async def test_a_copy_has_other_ids_everywhere_and_says_the_same(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    await fill(memory)
    path = await transfer.exported(memory)
    planned = await transfer.imported(other, path, new_ids=True, dry_run=True)
    report = await transfer.imported(other, path, new_ids=True)

    assert report.refused == []
    assert (planned.stored, planned.relations) == (report.stored, report.relations)
    before, after = await transfer.text(memory), await transfer.text(other)
    ids = [row["id"] for row in await memory.rows("SELECT id FROM record UNION SELECT id FROM relation")]
    assert not any(str(id_).encode() in after for id_ in ids)
    assert len(before.splitlines()) == len(after.splitlines())
    assert len(before) == len(after)
    again = await transfer.imported(other, path, new_ids=True)
    assert (again.stored.total(), again.unchanged, again.refused) == (0, report.stored.total(), [])


async def test_an_import_into_a_filled_instance_changes_nothing_there(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    await fill(memory)
    await fill(other)
    before = {line for line in (await transfer.text(other)).splitlines() if b'"kind":"end"' not in line}

    report = await transfer.imported(other, await transfer.exported(memory))

    after = set((await transfer.text(other)).splitlines())
    assert before <= after
    assert report.refusals > 0
    assert report.stored.total() > 0
    lines = (await transfer.text(memory)).count(b'"kind":"record"')
    assert report.stored.total() + report.mapped.total() + report.refusals == lines
    refused = {UUID(one.id) for one in report.refused if one.id is not None}
    ends = await other.rows("SELECT source, target FROM relation")
    assert not refused & {row[end] for row in ends for end in ("source", "target")}
    assert (await verify_chains(other.database, other.directory.vault)).whole


async def test_an_interrupted_import_continues(
    memory: Memory, other: Memory, transfer: Transfer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(memory)
    text = await transfer.text(memory)
    monkeypatch.setattr("stratagraph.memory.transfer.import_session.BATCH", 7)
    left = 5

    async def interrupted(session: ImportSession, records: Sequence[tuple[int, Restorable]]) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise StoreUnavailable
        await stored(session, records)

    stored = restored_records._store
    monkeypatch.setattr(restored_records, "_store", interrupted)
    with pytest.raises(StoreUnavailable):
        await transfer.imported(other, transfer.file(text))
    assert await other.value("SELECT count(*) FROM record") == 28

    report = await transfer.imported(other, transfer.file(text))

    assert (report.unchanged, report.refused) == (28, [])
    assert await transfer.text(other) == text


async def test_long_histories_and_logs_are_put_together_again(
    memory: Memory, other: Memory, transfer: Transfer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("LINE_VERSIONS", 2), ("LINE_ENTRIES", 3)):
        monkeypatch.setattr(f"stratagraph.store.transfer.exporting.{name}", most)
    for number in range(9):
        await memory.remember(
            SourceKind.WORKING_STATE, {"thread_id": "t", "state": "executing", "context_summary": str(number)}
        )
    await memory.turn("And another record")
    before = await transfer.text(memory)
    assert before.count(b'"kind":"record_part"') > 2

    report = await transfer.imported(other, transfer.file(before))

    assert (report.refused, report.stored.total()) == ([], 2)
    assert await transfer.text(other) == before
    lines = before.splitlines(keepends=True)[:-1]
    damaged = [line.replace(b'"confidence"', b'"confidenze"') if b"record_part" in line else line for line in lines]
    report = await transfer.imported(other, transfer.file(sealed_file(damaged)), new_ids=True)
    assert (report.refusals, report.stored) == (before.count(b'"kind":"record_part"'), {"episodic": 1})


async def test_captures_go_on_while_records_are_imported(
    memory: Memory, other: Memory, transfer: Transfer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both write names, slots and threads of the same spelling; none fails, and both leave all of theirs."""
    await fill(memory)
    path = await transfer.exported(memory)
    monkeypatch.setattr("stratagraph.memory.transfer.import_session.BATCH", 5)

    async def work() -> int:
        for number in range(25):
            await other.observe(
                "Lantern", "keeps_sessions_in", f"store {number}", revision_policy="replace", scope=SCOPE
            )
            await other.turn(f"Look up {number}", thread="look up 1")
        return 25

    report, done = await asyncio.gather(transfer.imported(other, path), work())

    assert report.stored.total() + report.refusals == await memory.value("SELECT count(*) FROM record")
    assert {one.reason.partition(" ")[2][:3] for one in report.refused} <= {"rec", "epi", "fac"}
    turns = "SELECT count(*) FROM record WHERE payload #>> '{timeline,0,content,text}' LIKE 'Look up%'"
    assert await other.value(turns) == done
    assert (await verify_chains(other.database, other.directory.vault)).whole


@pytest.mark.soak
async def test_a_hundred_thousand_records_move(memory: Memory, other: Memory, transfer: Transfer) -> None:
    """Copies of one store, each in scopes of its own, are moved, and exported again, in bounded memory."""
    await fill(memory)
    caller = await memory.directory.resolve(memory.trust)
    lines = [orjson.loads(line) for line in (await transfer.text(memory)).splitlines()[1:-1]]
    of_records = [line for line in lines if line["kind"] in ("record", "relation")]
    records = sum(line["kind"] == "record" for line in of_records)
    copies: dict[str, list[bytes]] = {"record": [], "relation": []}
    for number in range(100_000 // records + 1):
        for line in copied(of_records, caller.tenant, number):
            copies[line["kind"]].append(orjson.dumps(line, option=SORTED))
    header = b'{"format":"stratagraph","kind":"header","version":1}\n'
    path = transfer.file(sealed_file([header, *copies["record"], *copies["relation"]]))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    report = await transfer.imported(other, path)

    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 300
    assert (report.refused, report.stored.total()) == ([], len(copies["record"]))
    assert report.relations == len(copies["relation"])
    again = await transfer.text(other)
    assert sorted(again.splitlines()[1:-1]) == sorted(line.rstrip() for lines in copies.values() for line in lines)


async def test_only_an_administrator_may_import(memory: Memory, transfer: Transfer) -> None:
    await memory.turn("Only for us")
    path = await transfer.exported(memory)
    with pytest.raises(Forbidden):
        await transfer.importer(memory).run(replace(memory.trust, access=Access.WRITE), path)


async def test_artifacts_come_with_the_records_that_refer_to_them(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    async def stream() -> AsyncIterator[bytes]:
        yield bytes(range(256)) * 9_000  # three parts

    artifacts = transfer.artifacts(memory)
    uploaded = await artifacts.put(memory.trust, stream(), media_type="application/octet-stream")
    kept = await memory.remember(
        SourceKind.EPISODE,
        {
            "timeline": [{"t": memory.clock.at.isoformat(), "event_kind": "upload", "ref": "u1"}],
            "artifacts": [uploaded.uri],
        },
    )
    before = await transfer.text(memory)
    report = await transfer.imported(other, transfer.file(before))

    assert (report.artifacts, report.refused) == (1, [])
    assert (await other.record(kept.primary.id)).payload == (await memory.record(kept.primary.id)).payload
    found = await transfer.artifacts(other).get(other.trust, uploaded.uri)
    assert found.data == bytes(range(256)) * 9_000
    assert await transfer.text(other) == before
    lines = [line for line in before.splitlines(keepends=True) if b'"kind":"end"' not in line]
    cut = transfer.file(sealed_file(line for line in lines if b"artifact_part" not in line))
    report = await transfer.imported(other, cut, new_ids=True)
    assert [one.kind for one in report.refused] == ["artifact"]
