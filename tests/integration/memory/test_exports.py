"""Exports: one snapshot under writers, continued at every checkpoint, in bounded pages, decrypted for readers."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import orjson
import pytest
from fix_memory import EVIDENCE, Memory, trust_of
from obstore.store import MemoryStore

from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.revise.request import Amend, Delete, Merge, Retract
from stratagraph.memory.transfer import native_stream
from stratagraph.memory.transfer.chunks import Checkpoint
from stratagraph.memory.transfer.exports import ExportForm, ExportRequest, Exports
from stratagraph.memory.transfer.notes import note_of
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.model.enums import Access, MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import Forbidden, SnapshotGone
from stratagraph.store.model.exported import (
    ArtifactLine,
    ArtifactPartLine,
    EndLine,
    HeaderLine,
    Line,
    RecordLine,
    RecordPartLine,
    RelationLine,
    TombstoneLine,
    line_bytes,
    parse_line,
)
from stratagraph.store.model.rfc import from_appendix
from stratagraph.store.model.trust import Trust
from stratagraph.store.transfer import exporting

SECRET = "Fnordwhistle"
IDLE = timedelta(seconds=30)
MALFORMED: list[Any] = [
    *(None, [], {}, 1, "x", [None], {"a": {}}),
    *({key: value} for key in ("revision", "sources", "timeline", "aliases", "tool_graph") for value in (None, 5, [5])),
    {"thread_id": 7, "timeline": None, "tool_graph": {"a": 1}, "revision": "x", "lesson": [], "plan": 5},
]
PDF = b"%PDF " + bytes(range(256)) * 9_000  # three parts


class Exporter:
    """Exports of a memory, and its artifacts."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.artifacts = Artifacts(memory.database, memory.directory, memory.clock, Blobs(MemoryStore()))
        self.exports = Exports(memory.database, memory.directory, memory.clock, self.artifacts)

    async def bytes(self, trust: Trust | None = None, **wanted: Any) -> bytes:
        async with self.exports.open(trust or self.memory.trust, ExportRequest(**wanted)) as export:
            return b"".join([chunk.data async for chunk in export.chunks()])

    async def lines(self, trust: Trust | None = None, **wanted: Any) -> list[Line]:
        return lines_of(await self.bytes(trust, **wanted))


@pytest.fixture
def exporter(memory: Memory) -> Exporter:
    return Exporter(memory)


def lines_of(data: bytes) -> list[Line]:
    """Return the lines of a whole export, each of which is written as it was read."""
    texts = data.splitlines(keepends=True)
    lines = [parse_line(text) for text in texts]
    assert [line_bytes(line) for line in lines] == texts
    assert isinstance(lines[0], HeaderLine)
    end = lines[-1]
    assert isinstance(end, EndLine)
    assert end.sha256 == hashlib.sha256(b"".join(texts[:-1])).hexdigest()
    kinds = [line.kind for line in lines[:-1]]
    assert end.counts == {kind: kinds.count(kind) for kind in set(kinds)}
    return lines


def records_of(lines: list[Line]) -> dict[UUID, RecordLine]:
    return {line.id: line for line in lines if isinstance(line, RecordLine)}


async def a_life(exporter: Exporter) -> None:
    """Facts that succeed and dispute each other, a thread, changed entities, removals, an artifact, hidden records."""
    memory = exporter.memory

    async def body() -> AsyncIterator[bytes]:
        yield PDF

    uploaded = await exporter.artifacts.put(memory.trust, body(), media_type="application/pdf")
    for year, city in ((2019, "Oslo"), (2021, "Bergen"), (2024, "Narvik")):
        start = {"mode": "timeboxed", "start": f"{year}-01-01T00:00:00Z"}
        await memory.observe("Ada Holm", "lives_in", city, validity=start, revision_policy="replace")
    home = (await memory.observe("Ada Holm", "works_at", "Penhale")).primary.id
    await memory.observe("Ada Holm", "works_at", "Kestrel", sensitivity=Sensitivity.HIGH)
    await memory.observe("Ada Holm", "salary", SECRET, sensitivity=Sensitivity.HYPER)
    await memory.turn("Ada Holm said on Friday that the build fails", thread="build")
    content = {"event_kind": "build", "ref": "ci#1", "artifacts": [uploaded.uri], "thread_id": "build"}
    await memory.remember(SourceKind.EVENT, content)
    await memory.revise(
        Amend(record_id=home, changes={"object": "Penhale Ltd"}, evidence=EVIDENCE, rationale="renamed")
    )
    thing = await memory.entity("Tern")
    for number in range(7):
        await memory.revise(Amend(record_id=thing, changes={"summary": f"the {number}th"}, rationale=f"why {number}"))
    gone = (await memory.observe("Ada Holm", "likes", "tea")).primary.id
    await memory.revise(Retract(record_id=gone, rationale="a mistake"))
    deleted = await memory.entity("Nobody")
    await memory.revise(Delete(record_id=deleted, rationale="not needed"))
    await memory.observe("Ada Holm", "team", "Red", scope="team:red")
    await memory.observe("Ada Holm", "badge", "17", scope="team:blue")


async def test_an_export_has_every_record_and_relation_and_is_whole(exporter: Exporter) -> None:
    await a_life(exporter)
    memory = exporter.memory
    lines = await exporter.lines()
    records = records_of(lines)
    rows = await memory.rows("SELECT id, version, state FROM record")
    assert {row["id"]: (row["version"], row["state"]) for row in rows} == {
        line.id: (line.version, int(line.state)) for line in records.values()
    }
    relations = [line for line in lines if isinstance(line, RelationLine)]
    assert len(relations) == await memory.value("SELECT count(*) FROM relation")
    assert all({line.source, line.target} <= records.keys() for line in relations)
    assert {line.id for line in lines if isinstance(line, TombstoneLine)} == {
        row["id"] for row in await memory.rows("SELECT id FROM tombstone")
    }
    entries = await memory.value("SELECT count(*) FROM audit")
    assert entries == sum(len(line.audit) for line in lines if isinstance(line, RecordLine | TombstoneLine))
    assert await memory.value("SELECT count(*) FROM record_history") == sum(
        len(one.history) for one in records.values()
    )
    (artifact,) = [line for line in lines if isinstance(line, ArtifactLine)]
    parts = [base64.b64decode(line.data) for line in lines if isinstance(line, ArtifactPartLine)]
    assert b"".join(parts) == PDF
    assert (len(parts), artifact.parts, artifact.size_bytes) == (3, 3, len(PDF))
    states = {line.state for line in records.values()}
    assert states >= {RecordState.ACTIVE, RecordState.SUPERSEDED, RecordState.RETRACTED}
    assert any(line.fact.trims for line in records.values() if line.fact is not None)
    assert any(len(line.episode.members) == 2 for line in records.values() if line.episode is not None)


async def test_an_export_is_continued_at_every_checkpoint_in_another_transaction(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_life(exporter)
    small_pages(monkeypatch)
    memory, request = exporter.memory, ExportRequest()
    async with exporter.exports.open(memory.trust, request) as export:
        token = await export.hold(IDLE)
        chunks = [chunk async for chunk in export.chunks()]
        whole = b"".join(chunk.data for chunk in chunks)
        await memory.turn("written after the snapshot")
        checkpoints: list[Checkpoint] = [chunk.checkpoint for chunk in chunks if chunk.checkpoint is not None]
        assert len(checkpoints) > 20
        assert len({one.position.phase for one in checkpoints}) == 4
        async with exporter.exports.open(memory.trust, request, token=token) as other:
            for checkpoint in checkpoints:
                rest = b"".join([chunk.data async for chunk in other.chunks(checkpoint)])
                assert whole[: checkpoint.offset] + rest == whole
    with pytest.raises(SnapshotGone):
        async with exporter.exports.open(memory.trust, request, token=token) as late:
            await late.hold(IDLE)


async def test_a_token_is_of_one_caller_and_one_request(exporter: Exporter) -> None:
    await a_life(exporter)
    memory = exporter.memory
    async with exporter.exports.open(memory.trust, ExportRequest()) as export:
        token = await export.hold(IDLE)
        for trust, request in (
            (trust_of(actor="other"), ExportRequest()),
            (trust_of(ceiling=Sensitivity.LOW), ExportRequest()),
            (trust_of(scopes={"team:red"}), ExportRequest()),
            (memory.trust, ExportRequest(artifacts=False)),
            (memory.trust, ExportRequest(types=frozenset({MemoryType.ENTITY}))),
        ):
            with pytest.raises(SnapshotGone):
                await exporter.exports.check(trust, request, token)
        await exporter.exports.check(memory.trust, ExportRequest(), token)


async def test_small_pages_make_the_same_export(exporter: Exporter, monkeypatch: pytest.MonkeyPatch) -> None:
    await a_life(exporter)
    whole = await exporter.bytes()
    small_pages(monkeypatch)
    assert await exporter.bytes() == whole


async def test_a_long_history_and_audit_log_continue_in_lines_of_their_own(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    await a_life(exporter)
    whole = records_of(await exporter.lines())
    monkeypatch.setattr(exporting, "LINE_VERSIONS", 2)
    monkeypatch.setattr(exporting, "LINE_ENTRIES", 3)
    lines = await exporter.lines()
    joined = records_of(lines)
    parts = [line for line in lines if isinstance(line, RecordPartLine)]
    assert len(parts) > 2
    last: Line = lines[0]
    for line in lines:
        if isinstance(line, RecordPartLine):
            assert isinstance(last, RecordLine | RecordPartLine)
            assert last.id == line.id  # it follows what it continues
            former = joined[line.id]
            joined[line.id] = replace(former, history=former.history + line.history, audit=former.audit + line.audit)
        last = line
    assert joined == whole


async def test_the_number_of_statements_grows_with_pages_and_not_with_records(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = exporter.memory
    monkeypatch.setattr(exporting, "PAGE_RECORDS", 20)

    async def counted(trust: Trust) -> int:
        before = memory.database.statements
        await exporter.bytes(trust)
        return memory.database.statements - before

    used = []
    for _ in range(3):
        for number in range(20):
            await memory.turn(f"turn {number} of Ada Holm")  # one record each
        used.append((await counted(memory.trust), await counted(trust_of(ceiling=Sensitivity.MEDIUM))))
    assert used[2][0] - used[1][0] == used[1][0] - used[0][0] == 7  # those of one more page of records
    assert used[2][1] - used[1][1] == used[1][1] - used[0][1] <= 8  # and the look-up of named records


async def test_sealed_contents_are_in_the_clear_for_who_may_read_them_and_for_nobody_else(exporter: Exporter) -> None:
    await a_life(exporter)
    memory = exporter.memory
    assert await memory.value("SELECT count(*) FROM record WHERE sealed IS NOT NULL") > 1
    for form in ExportForm:
        assert SECRET.encode() in await exporter.bytes(form=form)
        for ceiling in (Sensitivity.LOW, Sensitivity.HIGH):
            low = trust_of(ceiling=ceiling, access=Access.READ)
            assert SECRET.encode() not in await exporter.bytes(low, form=form)


@pytest.mark.parametrize("level", [Sensitivity.MEDIUM, Sensitivity.HYPER])  # redacted, and not shown at all
async def test_an_export_names_no_record_that_its_caller_may_not_read(exporter: Exporter, level: Sensitivity) -> None:
    """A record names hidden ones in relations, in its revision, and after its removal in its tombstone."""
    memory = exporter.memory
    hidden = await memory.entity("Vault 7", sensitivity=level)
    content = {"event_kind": "note", "ref": "n1", "text": "where it is"}
    refers = {"references": [{"ref": str(hidden), "predicate": "guards"}]}
    visible = (await memory.remember(SourceKind.EVENT, content, context=refers)).primary.id
    low = (await memory.observe("Ada Holm", "keeps", "the key")).primary.id
    high = (await memory.observe("Ada Holm", "keeps", "a key", sensitivity=level)).primary.id
    await memory.revise(Merge(record_id=low, others=(high,), rationale="the same"))
    reader = trust_of(ceiling=Sensitivity.LOW, access=Access.READ)
    whole, part = await exporter.lines(), await exporter.lines(reader)
    assert {visible, low} <= records_of(part).keys()
    above = {line.id for line in records_of(whole).values() if line.sensitivity > Sensitivity.LOW}
    assert len(above) >= 3
    assert any(line.source == visible and line.target in above for line in whole if isinstance(line, RelationLine))
    assert UUID(records_of(whole)[low].content.payload["revision"]["superseded_by"]) in above
    for form in ExportForm:
        documents = [orjson.loads(line) for line in (await exporter.bytes(reader, form=form)).splitlines()]
        for one in documents:  # what the capture of a record referred to is part of the record, for all who read it
            one.get("content", one).pop("interpretation", None)
        shown = orjson.dumps(documents)
        assert [id_ for id_ in above if str(id_).encode() in shown] == []


async def test_an_export_is_narrowed_by_scopes_and_types(exporter: Exporter) -> None:
    await a_life(exporter)
    red = await exporter.lines(scopes=frozenset({"team:red"}))
    assert isinstance(red[0], HeaderLine)
    assert red[0].scopes == ("team:red",)
    assert {line.scope for line in records_of(red).values()} == {"", "team:red"}
    facts = await exporter.lines(types=frozenset({MemoryType.SEMANTIC}), artifacts=False)
    records = records_of(facts)
    assert {line.type for line in records.values()} == {MemoryType.SEMANTIC}
    relations = [line for line in facts if isinstance(line, RelationLine)]
    assert relations
    assert all({line.source, line.target} <= records.keys() for line in relations)
    with pytest.raises(Forbidden):
        await exporter.bytes(trust_of(scopes={"team:blue"}), scopes=frozenset({"team:red"}))
    assert [line.kind for line in await exporter.lines(trust_of(tenant="new"))] == ["header", "end"]


async def test_records_in_the_form_of_the_rfc_are_read_back_as_they_are_shown(exporter: Exporter) -> None:
    await a_life(exporter)
    memory = exporter.memory
    data = await exporter.bytes(form=ExportForm.RFC)
    found = [from_appendix(orjson.loads(line)) for line in data.splitlines()]
    assert len(found) == await memory.value("SELECT count(*) FROM record")
    for one in found:
        shown = await memory.record(one.record.id)
        assert shown.lifecycle is not None
        # The RFC has no place for when a fact holds in effect, and its state says whether it is withdrawn.
        lifecycle = replace(shown.lifecycle, is_withdrawn=False)
        assert one.record == replace(shown, valid_from=None, valid_to=None, lifecycle=lifecycle)
    live = await memory.value("SELECT count(*) FROM relation WHERE ended_at IS NULL")
    assert sum(len(one.relations) for one in found) == live


@pytest.mark.parametrize("column", ["payload", "provenance", "interpretation"])
async def test_malformed_records_are_left_out_and_named_and_no_others(exporter: Exporter, column: str) -> None:
    await a_life(exporter)
    memory = exporter.memory
    rows = await memory.rows("SELECT DISTINCT ON (type) id FROM record WHERE sealed IS NULL ORDER BY type, id")
    some = [row["id"] for row in rows]
    total = await memory.value("SELECT count(*) FROM record")
    for value in MALFORMED:
        stored = f"UPDATE record SET {column} = CAST(:value AS jsonb) WHERE id = ANY(:ids)"  # noqa: S608
        await memory.rows(stored, value=orjson.dumps(value).decode(), ids=some)
        assert (await exporter.bytes()).count(b'"kind":"record"') == total  # as it is stored
        for form in ("rfc", "markdown"):
            async with exporter.exports.open(memory.trust, ExportRequest(form=ExportForm.RFC)) as export:
                if form == "rfc":
                    written = [chunk.records async for chunk in export.chunks()]
                else:
                    whole = export.whole_records()
                    notes = partial(note_of, names={})
                    written = [whole.made(one, notes) is not None async for page in whole.pages() for one in page]
                assert sum(written) + len(export.left_out) == total, value
                assert len(set(export.left_out)) == len(export.left_out)
                named = {str(id_) for id_ in export.left_out} - {str(id_) for id_ in some}
                assert named <= await episodes(memory), value  # whose timeline has the malformed events


async def episodes(memory: Memory) -> set[str]:
    """Return the ids of the episodes of threads."""
    return {str(row["id"]) for row in await memory.rows("SELECT id FROM episode")}


async def test_an_export_under_writers_is_one_snapshot(exporter: Exporter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every end of a relation is in the file, and each record has the version to which its history leads."""
    await a_life(exporter)
    small_pages(monkeypatch)
    memory = exporter.memory
    thing = await memory.entity("Gull")
    stopped = asyncio.Event()

    async def write() -> int:
        number = 0
        while not stopped.is_set():
            number += 1
            await memory.observe("Gull", f"p{number % 5}", f"value {number}")
            await memory.revise(Amend(record_id=thing, changes={"summary": f"{number}"}, rationale="changed"))
        return number

    writing = asyncio.create_task(write())
    try:
        exports = [await exporter.lines() for _ in range(3)]
    finally:
        stopped.set()
    assert await writing > 3
    for lines in exports:
        records = records_of(lines)
        relations = [line for line in lines if isinstance(line, RelationLine)]
        assert all({line.source, line.target} <= records.keys() for line in relations)
        facts = [line for line in records.values() if line.fact is not None and line.fact.subject_entity == thing]
        of_facts = {line.source for line in relations if line.predicate == "subject_entity" and line.target == thing}
        assert of_facts == {line.id for line in facts}
        changed = records[thing]
        assert changed.version == len(changed.history) + 1 == sum(one.action == "revise" for one in changed.audit) + 1


async def test_an_export_takes_the_memory_of_a_page_and_not_of_the_store(
    exporter: Exporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = exporter.memory
    for _ in range(60):
        text = secrets.token_hex(100_000)
        await memory.remember(SourceKind.EVENT, {"event_kind": "log", "ref": "a", "text": text})
    monkeypatch.setattr(exporting, "PAGE_BYTES", 1 << 18)
    total = 0
    async with exporter.exports.open(memory.trust, ExportRequest()) as export:
        tracemalloc.start()
        try:
            async for chunk in export.chunks():
                total += len(chunk.data)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert total > 12_000_000
    assert peak < total / 2


def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every page so small that a few records are many pages."""
    monkeypatch.setattr(exporting, "PAGE_RECORDS", 2)
    for module in (exporting, native_stream):
        for name, number in (("KEYS", 5), ("SOURCES", 3), ("RELATIONS", 2), ("TOMBSTONES", 1)):
            monkeypatch.setattr(module, name, number)
    monkeypatch.setattr(exporting, "ARTIFACTS", 1)
