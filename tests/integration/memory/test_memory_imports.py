"""Imports of memories of other systems: what held there holds here, and is stored once, however often it is run."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fix_erasing import Store
from fix_memory import EVIDENCE, NOON, Memory, fresh_database, memory_of
from fix_secrets import planted
from fix_transfer import Transfer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from obstore.store import MemoryStore

from stratagraph.memory.erase.request import Erase
from stratagraph.memory.imports.memories.run import MemoryImport, import_memories
from stratagraph.memory.imports.memories.summary import MemorySummary
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.records.listing import RecordFilter
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.revise.request import Contest
from stratagraph.memory.transfer.exports import ExportForm, ExportRequest, Exports
from stratagraph.memory.transfer.restoring import RecordImport
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Database

SAMPLES = Path(__file__).parents[2] / "data" / "memories"
ALL_STATES = [RecordState.ACTIVE, RecordState.CONTESTED, RecordState.SUPERSEDED, RecordState.RETRACTED]
LINKS = (
    "SELECT e.source, e.target FROM relation e JOIN predicate p ON p.tenant = e.tenant AND p.id = e.predicate"
    " WHERE p.name = :name AND e.ended_at IS NULL"
)
Fact = tuple[str, str, Any, str | None, str | None]


@asynccontextmanager
async def empty(postgres_url: str, template_database: str) -> AsyncIterator[Memory]:
    with fresh_database(postgres_url, template_database) as url:
        async with Database(url) as database:
            yield memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))


async def imported(memory: Memory, *paths: Path, **options: Any) -> MemorySummary:
    memory.clock.forward(timedelta(seconds=1))
    artifacts = Artifacts(memory.database, memory.directory, memory.clock, Blobs(MemoryStore()))
    restoring = RecordImport(memory.database, memory.directory, artifacts)
    return await import_memories(
        memory.capture, restoring, artifacts, memory.trust, MemoryImport(paths=paths, **options)
    )


async def listed(memory: Memory, type_: MemoryType, states: list[RecordState] | None = None) -> list[MemoryRecord]:
    found: list[MemoryRecord] = []
    after = None
    while True:
        wanted = RecordFilter(types=[type_], states=states or ALL_STATES)
        page = await memory.lookup.records(memory.trust, wanted, first=100, after=after)
        found += page.records
        after = page.end_cursor
        if not page.has_next:
            return found


async def facts(memory: Memory, *states: RecordState) -> Counter[Fact]:
    """The facts in these states, active ones by default: subject, predicate, object, and the validity as stated."""
    found = await listed(memory, MemoryType.SEMANTIC, list(states) or [RecordState.ACTIVE])
    return Counter(fact_of(record.payload or {}) for record in found)


def fact_of(payload: dict[str, Any]) -> Fact:
    validity = payload["validity"]
    value = json.dumps(payload["object"]) if isinstance(payload["object"], list | dict) else payload["object"]
    return payload["subject"], payload["predicate"], value, validity.get("start"), validity.get("end")


async def everything(memory: Memory) -> Any:
    """What is stored, to be compared with what is stored later."""
    counts = [
        "SELECT count(*) AS count FROM record",
        "SELECT count(*) AS count FROM relation",
        "SELECT count(*) AS count FROM candidate",
        "SELECT count(*) AS count FROM audit",
        "SELECT count(*) AS count FROM sync_log",
        "SELECT count(*) AS count FROM entity_term",
        "SELECT count(*) AS count FROM record_history",
    ]
    return [(await memory.rows(count))[0]["count"] for count in counts]


def written(path: Path, value: Any, name: str = "memories.json") -> Path:
    file = path / name
    file.write_text(json.dumps(value))
    return file


async def test_every_sample_is_stored_once_and_a_dry_run_says_what_comes(memory: Memory) -> None:
    before = await everything(memory)
    dry = await imported(memory, SAMPLES, dry_run=True)
    assert await everything(memory) == before
    first = await imported(memory, SAMPLES)
    assert (dry.items, dry.captured, dry.records, dry.unread) == (
        first.items,
        first.captured,
        first.records,
        first.unread,
    )
    assert (first.refused, first.replayed) == ([], 0)
    stored = await everything(memory)
    again = await imported(memory, SAMPLES)
    assert (again.captured, again.replayed, again.changed) == (0, first.items, 0)
    assert await everything(memory) == stored


# Facts of a small world: each has a validity, and the ends are people and places with types.
NAMES = ["Aino Berg", "Bram Cole", "Chloe Dunn", "Dario Egan"]
PREDICATES = ["WORKS_AT", "KNOWS", "VISITED"]
DAYS = st.integers(0, 300)


@st.composite
def worlds(draw: st.DrawFn) -> list[tuple[int, str, int, int | None, int | None, int | None]]:
    """Edges as (subject, predicate, object, day from which, day until which it held, day on which it expired)."""
    edges = []
    for _ in range(draw(st.integers(1, 8))):
        source, target = draw(st.permutations(range(len(NAMES))))[:2]
        start = draw(st.none() | DAYS)
        end, expired = (
            None if days is None else (start or 0) + 1 + days
            for days in draw(st.tuples(st.none() | DAYS, st.none() | DAYS))
        )
        edges.append((source, draw(st.sampled_from(PREDICATES)), target, start, end, expired))
    return edges


def day(number: int | None) -> str | None:
    return (
        None
        if number is None
        else (datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=number)).strftime("%Y-%m-%dT%H:%M:%SZ")
    )


def graph_of(edges: list[Any]) -> dict[str, Any]:
    nodes = [
        {"uuid": f"n{place}", "name": name, "group_id": "g", "labels": ["Entity", "Person"], "summary": ""}
        for place, name in enumerate(NAMES)
    ]
    return {
        "nodes": nodes,
        "edges": [
            {
                "uuid": f"e{number}",
                "group_id": "g",
                "source_node_uuid": f"n{source}",
                "target_node_uuid": f"n{target}",
                "created_at": "2024-12-01T00:00:00Z",
                "name": predicate,
                "fact": f"{NAMES[source]} {predicate} {NAMES[target]}",
                "episodes": [],
                "valid_at": day(start),
                "invalid_at": day(end),
                "expired_at": day(expired),
            }
            for number, (source, predicate, target, start, end, expired) in enumerate(edges)
        ],
    }


def exported_rows(graph: dict[str, Any]) -> list[dict[str, Any]]:
    """The graph as rows of an export of Neo4j."""
    rows: list[dict[str, Any]] = [
        {"type": "node", "id": one["uuid"], "labels": one["labels"], "properties": {**one, "labels": None}}
        for one in graph["nodes"]
    ]
    for edge in graph["edges"]:
        ends = {
            name: {"id": "0", "properties": {"uuid": edge[f"{own}_node_uuid"]}}
            for name, own in (("start", "source"), ("end", "target"))
        }
        own = {name: value for name, value in edge.items() if not name.endswith("_node_uuid")}
        rows.append({"type": "relationship", "id": edge["uuid"], "label": "RELATES_TO", "properties": own, **ends})
    return rows


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(edges=worlds(), half=st.integers(0, 8))
async def test_a_graph_comes_back_with_its_entities_facts_and_validity_from_either_form(
    postgres_url: str, template_database: str, tmp_path: Path, edges: list[Any], half: int
) -> None:
    graph = graph_of(edges)
    rows = tmp_path / "rows.jsonl"
    rows.write_text("\n".join(json.dumps(row) for row in exported_rows(graph)))
    expected = {
        (NAMES[s], p.lower(), NAMES[o], day(start), day(expired if end is None else end))
        for s, p, o, start, end, expired in edges
    }
    async with empty(postgres_url, template_database) as memory:
        summary = await imported(memory, written(tmp_path, {**graph, "edges": graph["edges"][:half]}))
        assert summary.refused == []
        await imported(memory, written(tmp_path, graph))
        assert await facts(memory, *ALL_STATES) == dict.fromkeys(expected, 1)
        people = await listed(memory, MemoryType.ENTITY)
        assert sorted((one.payload or {})["canonical_name"] for one in people) == NAMES
        assert {(one.payload or {})["primary_type"] for one in people} == {"Person"}
        stored = await everything(memory)
        again = await imported(memory, rows)
        assert (again.captured, again.refused, again.changed) == (0, [], 0)
        assert await everything(memory) == stored


TEXTS = ["likes plums", "plays the oboe", "sleeps late", "has a red boat", "reads atlases"]
VERSIONS = st.dictionaries(
    st.integers(0, 5), st.tuples(st.sampled_from(["ann", "ben"]), st.sampled_from(TEXTS)), min_size=1, max_size=6
)


def mem0_file(path: Path, memories: dict[int, tuple[str, str]], name: str = "mem0.json") -> Path:
    results = [{"id": f"m{id_}", "memory": text, "user_id": user} for id_, (user, text) in memories.items()]
    return written(path, {"results": results}, name)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(versions=st.lists(VERSIONS, min_size=1, max_size=4))
async def test_memories_that_change_take_the_place_of_what_they_were_and_deleted_ones_stay(
    postgres_url: str, template_database: str, tmp_path: Path, versions: list[dict[int, tuple[str, str]]]
) -> None:
    """The facts of each user are those of the latest version of each memory, however often files are imported."""
    latest: dict[int, tuple[str, str]] = {}
    async with empty(postgres_url, template_database) as memory:
        for version in versions:
            changed = sum(id_ in latest and latest[id_] != said for id_, said in version.items())
            latest |= version
            summary = await imported(memory, mem0_file(tmp_path, version))
            assert (summary.refused, summary.changed) == ([], changed)
            current = {(user, "memory", text, None, None) for user, text in latest.values()}
            assert await facts(memory) == dict.fromkeys(current, 1)
            stored = await everything(memory)
            again = await imported(memory, mem0_file(tmp_path, version))
            assert (again.captured, again.replayed) == (0, len(version))
            assert await everything(memory) == stored


async def test_a_changed_memory_supersedes_what_it_was_and_keeps_it_as_history(memory: Memory, tmp_path: Path) -> None:
    await imported(memory, mem0_file(tmp_path, {1: ("ann", "lives in Oslo")}))
    summary = await imported(memory, mem0_file(tmp_path, {1: ("ann", "lives in Bergen")}))
    assert (summary.changed, summary.superseded) == (1, 1)
    (old,) = await listed(memory, MemoryType.SEMANTIC, [RecordState.SUPERSEDED])
    (new,) = await listed(memory, MemoryType.SEMANTIC, [RecordState.ACTIVE])
    assert old.payload is not None
    assert new.payload is not None
    assert (old.payload["object"], new.payload["object"]) == ("lives in Oslo", "lives in Bergen")
    assert old.payload["revision"]["superseded_by"] == str(new.id)
    assert new.payload["revision"]["supersedes"] == str(old.id)
    links = await memory.rows(LINKS, name="supersedes")
    assert [(row["source"], row["target"]) for row in links] == [(new.id, old.id)]


async def test_a_change_ends_the_dispute_of_what_a_memory_said_before(memory: Memory, tmp_path: Path) -> None:
    await imported(memory, mem0_file(tmp_path, {1: ("ann", "lives in Oslo")}))
    (oslo,) = await listed(memory, MemoryType.SEMANTIC)
    contested = await memory.revise(Contest(record_id=oslo.id, rationale="heard otherwise", evidence=EVIDENCE))
    assert contested.record.state is RecordState.CONTESTED
    summary = await imported(memory, mem0_file(tmp_path, {1: ("ann", "lives in Bergen")}))
    assert (summary.changed, summary.superseded) == (1, 1)
    assert [row["target"] for row in await memory.rows(LINKS, name="supersedes")] == [oslo.id]
    assert await memory.rows(LINKS, name="contested_by") == []
    assert list(await facts(memory, RecordState.ACTIVE, RecordState.CONTESTED)) == [
        ("ann", "memory", "lives in Bergen", None, None)
    ]


async def test_a_memory_that_held_a_secret_is_superseded_by_one_without(memory: Memory, tmp_path: Path) -> None:
    _, sentence = planted("github", 3)
    await imported(memory, mem0_file(tmp_path, {1: ("ann", sentence)}))
    (sealed,) = await listed(memory, MemoryType.SEMANTIC)
    assert sealed.sensitivity > Sensitivity.LOW
    summary = await imported(memory, mem0_file(tmp_path, {1: ("ann", "uses a key file")}))
    assert (summary.refused, summary.superseded) == ([], 1)
    assert [row["target"] for row in await memory.rows(LINKS, name="supersedes")] == [sealed.id]
    again = await imported(memory, mem0_file(tmp_path, {1: ("ann", "uses a key file")}))
    assert (again.captured, again.replayed) == (0, 1)


async def test_an_older_file_does_not_take_back_what_a_newer_one_said(memory: Memory, tmp_path: Path) -> None:
    def file(text: str, changed: str) -> Path:
        return written(tmp_path, [{"id": "1", "memory": text, "user_id": "ann", "updated_at": changed}])

    await imported(memory, file("lives in Bergen", "2025-05-01T00:00:00Z"))
    summary = await imported(memory, file("lives in Oslo", "2025-01-01T00:00:00Z"))
    assert summary.skipped == {"memories that are older than what is known of them": 1}
    assert list(await facts(memory, *ALL_STATES)) == [("ann", "memory", "lives in Bergen", None, None)]


@st.composite
def lives(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Memories with the days on which they were changed, each with its text from then on; None for a deletion."""
    found = []
    for number in range(draw(st.integers(1, 4))):
        days = sorted(draw(st.lists(st.integers(1, 200), min_size=1, max_size=4, unique=True)))
        texts: list[str | None] = [f"{number} {TEXTS[place % 3]}" for place in range(len(days))]
        if len(days) > 1 and draw(st.booleans()):
            texts[-1] = None
        found.append(
            {
                "id": f"m{number}",
                "user": draw(st.sampled_from(["ann", "ben"])),
                "texts": list(zip(days, texts, strict=True)),
                "touched": draw(st.none() | st.integers(201, 250)),  # the day on which its metadata were changed
                "expires": draw(st.none() | st.integers(251, 300)),
            }
        )
    return found


def present_of(life: dict[str, Any]) -> dict[str, Any]:
    """A memory as `get_all` shows it."""
    days = [at for at, _ in life["texts"]]
    updated = life["touched"] or (days[-1] if len(days) > 1 else None)
    expires = None if life["expires"] is None else (day(life["expires"]) or "")[:10]
    return {
        "id": life["id"],
        "memory": life["texts"][-1][1],
        "user_id": life["user"],
        "created_at": day(days[0]),
        "updated_at": day(updated),
        "expiration_date": expires,
    }


def changes_of(life: dict[str, Any]) -> list[dict[str, Any]]:
    """The history of a memory, which does not say whose it is."""
    rows, before = [], None
    for at, text in life["texts"]:
        event = "ADD" if before is None else "UPDATE" if text is not None else "DELETE"
        first, last = day(life["texts"][0][0]), None if event == "ADD" else day(at)
        own = {"memory_id": life["id"], "old_memory": before, "new_memory": text, "event": event}
        rows.append({**own, "created_at": first, "updated_at": last, "is_deleted": int(event == "DELETE")})
        before = text
    return rows


def held(life: dict[str, Any]) -> list[Fact]:
    """The facts that a memory is in the end, when both of its files are known."""
    facts_: list[Fact] = []
    for place, (at, text) in enumerate(life["texts"]):
        ends = [one for one, _ in life["texts"][place + 1 :]]
        start = day(at) if ends or place else None
        end = day(ends[0]) if ends else day(life["expires"])
        if text is not None:
            facts_.append((life["user"], "memory", text, start, end))
    return facts_


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(lived=lives(), order=st.permutations(range(4)), together=st.booleans(), chance=st.randoms(use_true_random=False))
async def test_memories_and_their_histories_are_the_same_facts_in_any_order_of_files(
    postgres_url: str,
    template_database: str,
    tmp_path: Path,
    lived: list[dict[str, Any]],
    order: list[int],
    together: bool,
    chance: random.Random,
) -> None:
    """A history does not say whose a memory is; the memory itself does, in the same run, earlier or later."""
    parts: list[Any] = [[], [], [], []]
    for life in lived:
        if life["texts"][-1][1] is not None:
            parts[chance.randrange(2)].append(present_of(life))
        else:
            # It was seen before it was deleted.
            seen = {**life, "texts": life["texts"][:-1], "touched": None}
            parts[chance.randrange(2)].append(present_of(seen))
        parts[2 + chance.randrange(2)] += changes_of(life)
    chance.shuffle(parts[2])
    files = [written(tmp_path, parts[place], f"{place}.json") for place in order if parts[place]]
    runs = [files] if together else [[file] for file in files]
    expected = dict.fromkeys((one for life in lived for one in held(life)), 1)
    async with empty(postgres_url, template_database) as memory:
        dry = [await imported(memory, *run, dry_run=True) for run in runs[:1]]
        first = [await imported(memory, *run) for run in runs]
        assert [one.refused for one in first] == [[]] * len(runs)
        assert (dry[0].captured, dry[0].changed, dry[0].superseded) == (
            first[0].captured,
            first[0].changed,
            first[0].superseded,
        )
        assert await facts(memory) == expected
        stored = await everything(memory)
        again = [await imported(memory, *run) for run in runs]
        assert [(one.captured, one.changed) for one in again] == [(0, 0)] * len(runs)
        assert await everything(memory) == stored
        other = await imported(memory, *reversed(files))
        assert (other.captured, other.changed) == (0, 0)


async def test_a_history_that_does_not_say_whose_it_is_takes_no_memory_from_its_user(
    memory: Memory, tmp_path: Path
) -> None:
    life = {"id": "m1", "user": "ann", "texts": [(1, "likes plums"), (9, "plays the oboe")], "touched": None}
    present = written(tmp_path, [present_of({**life, "expires": None})], "get_all.json")
    history = written(tmp_path, changes_of(life), "history.json")
    unowned = [{**present_of({**life, "expires": None}), "user_id": None}]
    await imported(memory, present)
    known = await imported(memory, history)
    assert (known.captured, known.changed, known.superseded) == (1, 0, 0)
    assert (await imported(memory, written(tmp_path, unowned, "bare.json"))).captured == 0
    assert await facts(memory, *ALL_STATES) == {
        ("ann", "memory", "likes plums", day(1), day(9)): 1,
        ("ann", "memory", "plays the oboe", day(9), None): 1,
    }
    tags = [set(one.tags) for one in await listed(memory, MemoryType.SEMANTIC)]
    assert all({"mem0", "user:ann"} <= own for own in tags)


async def test_a_dry_run_counts_what_versions_of_one_run_supersede(memory: Memory, tmp_path: Path) -> None:
    def file(name: str, month: int) -> Path:
        changed = f"2025-{month:02}-01T00:00:00Z"
        memories = [
            {"id": f"m{number}", "memory": f"sang {TEXTS[number]} {month}", "user_id": "ann", "updated_at": changed}
            for number in range(3)
        ]
        return written(tmp_path, memories, name)

    files = [file("a.json", 3), file("b.json", 5), file("c.json", 4), file("d.json", 5)]
    dry = await imported(memory, *files, dry_run=True)
    real = await imported(memory, *files)
    assert (real.captured, real.changed, real.superseded, real.replayed) == (6, 3, 3, 3)
    assert (dry.captured, dry.changed, dry.superseded, dry.replayed) == (6, 3, 3, 3)
    assert dry.skipped == real.skipped == {"memories that are older than what is known of them": 3}
    assert dry.records["semantic"] == real.records["semantic"] == 6


async def test_a_file_that_cannot_be_read_leaves_the_others_of_its_format(memory: Memory, tmp_path: Path) -> None:
    whole = mem0_file(tmp_path, {1: ("ann", "sings")}, "b.json")
    cut = tmp_path / "a.jsonl.gz"
    hashes = (random.Random(number).randbytes(200).hex() for number in range(120))
    lines = [json.dumps({"id": f"c{number}", "memory": "hums", "hash": one}) for number, one in enumerate(hashes)]
    content = gzip.compress("\n".join(lines).encode())
    cut.write_bytes(content[: len(content) // 2])
    summary = await imported(memory, cut, whole)
    assert [one.item for one in summary.refused][-1:] == ["a.jsonl.gz"]
    assert ("ann", "memory", "sings", None, None) in await facts(memory)


async def test_two_users_of_one_file_stay_apart_in_answers(memory: Memory, tmp_path: Path) -> None:
    said = {1: ("ann", "is allergic to walnuts"), 2: ("ben", "is allergic to mussels"), 3: ("ann", "sings alto")}
    await imported(memory, mem0_file(tmp_path, said))
    for user, food in (("ann", "walnuts"), ("ben", "mussels")):
        request = RetrieveRequest(task_descriptor=f"what is {user} allergic to?")
        answer = await memory.retrieve.retrieve(memory.trust, request)
        best = answer.nodes[0].record
        assert best.text is not None
        assert food in best.text
        assert {"mem0", f"user:{user}"} <= set(best.tags)
    people = await listed(memory, MemoryType.ENTITY)
    identifiers = {entry["value"] for one in people for entry in (one.payload or {})["identifiers"]}
    assert identifiers == {"user:ann", "user:ben"}


async def test_nodes_of_one_name_and_a_user_called_like_an_agent_are_different_entities(
    memory: Memory, tmp_path: Path
) -> None:
    graph = graph_of([(0, "KNOWS", 1, None, None, None), (2, "KNOWS", 3, None, None, None)])
    for node in graph["nodes"]:
        node["name"] = {"n0": "Sam", "n2": "Sam", "n1": "Kit", "n3": "Lou"}[node["uuid"]]
    await imported(memory, written(tmp_path, graph))
    results = [
        {"id": "1", "memory": "hums while working", "user_id": "echo"},
        {"id": "2", "memory": "answers in rhyme", "agent_id": "echo"},
    ]
    await imported(memory, written(tmp_path, {"results": results}))
    subjects = await memory.rows(LINKS, name="subject_entity")
    assert len({row["target"] for row in subjects}) == 4


async def test_the_episodes_of_a_fact_are_its_sources(memory: Memory) -> None:
    await imported(memory, SAMPLES / "graphiti.json")
    derived = await memory.rows(LINKS, name="derived_semantic")
    assert len(derived) == 2


async def test_notes_that_are_edited_supersede_their_sections_and_others_stay(memory: Memory, tmp_path: Path) -> None:
    note = tmp_path / "Ferry.md"
    note.write_text("---\nstatus: planned\n---\nLeaves at eight.\n\n## Crew\nThree people.\n")
    await imported(memory, tmp_path)
    note.write_text("---\nstatus: running\n---\nLeaves at nine.\n\n## Crew\nThree people.\n")
    summary = await imported(memory, tmp_path)
    assert (summary.changed, summary.superseded) == (2, 2)
    assert set(await facts(memory)) == {
        ("Ferry", "status", "running", None, None),
        ("Ferry", "note", "Leaves at nine.", None, None),
        ("Ferry", "note", "Crew: Three people.", None, None),
    }


async def test_a_changed_profile_supersedes_the_fields_that_changed(memory: Memory, tmp_path: Path) -> None:
    def file(**value: Any) -> Path:
        return written(tmp_path, [{"namespace": ["profiles", "ida"], "key": "profile", "value": value}])

    await imported(memory, file(languages=["Dutch", "Welsh"], town="Hoorn"))
    summary = await imported(memory, file(languages=["Dutch"], town="Hoorn"))
    assert (summary.changed, summary.superseded) == (1, 1)
    assert set(await facts(memory)) == {
        ("ida", "languages", '["Dutch"]', None, None),
        ("ida", "town", "Hoorn", None, None),
    }


async def test_notes_of_one_name_in_two_folders_stay_apart(memory: Memory, tmp_path: Path) -> None:
    for folder, text in (("sea", "Tides and winds."), ("land", "Hills and rivers.")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "Index.md").write_text(text)
        await imported(memory, tmp_path / folder)
    assert sorted(fact[2] for fact in await facts(memory)) == ["Hills and rivers.", "Tides and winds."]
    again = await imported(memory, tmp_path / "sea" / "Index.md")
    assert (again.captured, again.changed) == (0, 0)


async def test_files_that_notes_embed_are_artifacts_of_their_sections(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "chart.png").write_bytes(b"\x89PNG chart")
    (tmp_path / "Route.md").write_text("Go north.\n\n![[chart.png]] ![plan](missing.pdf)\n\n![out](../../etc/hosts)\n")
    dry = await imported(memory, tmp_path, dry_run=True)
    assert await memory.rows("SELECT * FROM artifact_reference") == []
    summary = await imported(memory, tmp_path)
    assert (dry.artifacts, summary.artifacts) == (1, 1)
    assert summary.skipped == {"embedded files that are not in the folder": 2}
    (reference,) = await memory.rows("SELECT sha256, media_type FROM artifact_reference")
    assert bytes(reference["sha256"]) == hashlib.sha256(b"\x89PNG chart").digest()
    assert (await imported(memory, tmp_path)).artifacts == 0


async def test_what_is_refused_is_listed_with_its_place_and_the_rest_is_stored(memory: Memory, tmp_path: Path) -> None:
    later = (NOON + timedelta(days=400)).isoformat()
    results = [
        {"id": "1", "memory": "sings", "user_id": "ann"},
        {"id": "2", "memory": 7, "user_id": "ann"},
        {"id": "3", "memory": "dances", "user_id": "ann", "created_at": later},
        "no memory",
    ]
    (tmp_path / "b.json").write_text('{"some": "thing"}')
    summary = await imported(memory, written(tmp_path, {"results": results}, "a.json"), tmp_path / "b.json")
    reasons = {one.item: one.reason for one in summary.refused}
    assert set(reasons) == {"a.json results.1", "a.json results.2", "a.json results.3", "b.json"}
    assert "must be a string" in reasons["a.json results.1"]
    assert "timestamp" in reasons["a.json results.2"]
    assert "fits no known format" in reasons["b.json"]
    assert list(await facts(memory)) == [("ann", "memory", "sings", None, None)]


async def test_a_long_history_of_one_user_is_stored_in_several_transactions(memory: Memory, tmp_path: Path) -> None:
    entries = [
        {
            "memory_id": f"m{number}",
            "event": event,
            "new_memory": f"counted {number} geese" if event == "ADD" else None,
            "created_at": f"2024-01-0{1 + (event != 'ADD')}T00:00:00Z",
            "user_id": "ann",
        }
        for number in range(120)
        for event in ("ADD", "DELETE")
    ]
    summary = await imported(memory, written(tmp_path, entries))
    assert (summary.refused, summary.records["semantic"]) == ([], 120)


async def test_two_imports_at_the_same_time_store_each_memory_once(memory: Memory, tmp_path: Path) -> None:
    texts = {number: (f"user{number % 3}", f"counted {number} terns") for number in range(240)}
    file = mem0_file(tmp_path, texts)
    summaries = await asyncio.gather(*(imported(memory, file) for _ in range(3)))
    assert [summary.refused for summary in summaries] == [[], [], []]
    assert sum(summary.captured for summary in summaries) == 240
    assert await facts(memory) == dict.fromkeys(
        ((user, "memory", text, None, None) for user, text in texts.values()), 1
    )
    edited = mem0_file(tmp_path, {number: (user, f"{text} twice") for number, (user, text) in texts.items()})
    summaries = await asyncio.gather(*(imported(memory, edited) for _ in range(2)))
    assert [summary.refused for summary in summaries] == [[], []]
    assert {text for _, _, text, *_ in await facts(memory)} == {f"{text} twice" for _, text in texts.values()}


async def test_a_secret_in_a_memory_is_masked_wherever_it_is_stored(
    memory: Memory, database_url: str, tmp_path: Path
) -> None:
    token, sentence = planted("github", 7)
    store = Store(memory, tmp_path / "artifacts", database_url)
    lines = [
        {"type": "entity", "name": "Relay", "entityType": "service", "observations": [sentence]},
        {"type": "relation", "from": "Relay", "to": "Hub", "relationType": "calls"},
    ]
    file = tmp_path / "memory.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    summary = await imported(memory, file)
    assert (summary.refused, summary.captured) == ([], 3)
    found = await store.holding([token.lower(), "relay"])
    assert {word for words in found.values() for word in words} == {"relay"}
    again = await imported(memory, file)
    assert (again.captured, again.replayed) == (0, 3)


async def test_an_erased_memory_is_not_imported_again_unless_it_is_restored(memory: Memory, tmp_path: Path) -> None:
    file = mem0_file(tmp_path, {1: ("ann", "sings"), 2: ("ann", "dances")})
    await imported(memory, file)
    sings = next(one for one in await listed(memory, MemoryType.SEMANTIC) if one.name and "sings" in one.name)
    await memory.erasure.erase(memory.trust, Erase(record_id=sings.id, rationale="ticket 4711"))
    assert (await imported(memory, file)).erased == 1
    assert list(await facts(memory)) == [("ann", "memory", "dances", None, None)]
    restored = await imported(memory, file, restore_erased=True)
    assert restored.captured == 1


@pytest.mark.parametrize("name", sorted(file.name for file in SAMPLES.iterdir() if file.is_file()))
async def test_damaged_files_are_stored_as_far_as_they_can_be_and_the_rest_is_refused(
    memory: Memory, tmp_path: Path, name: str
) -> None:
    chance = random.Random(name)
    text = (SAMPLES / name).read_text()
    for _ in range(12):
        words = [place for place, letter in enumerate(text) if letter in '":,[]{}']
        place = chance.choice(words)
        cut = chance.choice(["", '"', "null", "[", "0", '"\\u0000"', '{"a": 1}'])
        file = tmp_path / name
        file.write_text(text[:place] + cut + text[place + chance.randrange(3) :])
        summary = await imported(memory, file)
        assert all(one.reason.strip() and "reference" not in one.reason for one in summary.refused)


async def test_records_in_the_forms_of_the_rfc_keep_ids_states_versions_relations_and_audit(memory: Memory) -> None:
    summary = await imported(memory, SAMPLES / "membrane.jsonl", SAMPLES / "membrane_canonical.json")
    assert (summary.refused, summary.captured) == ([], 7)
    old, new = (UUID(f"01961e2c-7a10-7c3a-9b1e-00000000000{place}") for place in (2, 3))
    shallow, deep = await memory.record(old), await memory.record(new)
    assert (shallow.state, shallow.version, deep.state) == (RecordState.SUPERSEDED, 2, RecordState.ACTIVE)
    assert [(row["source"], row["target"]) for row in await memory.rows(LINKS, name="supersedes")] == [(new, old)]
    log = (await memory.lookup.audit(memory.trust, [old]))[old]
    assert [(entry.actor, entry.rationale) for entry in log] == [
        ("diver", "first sounding"),
        ("diver", "sounded again"),
    ]
    refused = await imported(memory, SAMPLES / "membrane.jsonl", scope="project:x")
    assert "leave --scope out" in refused.refused[0].reason


async def test_an_export_in_the_form_of_the_rfc_comes_back_in_another_store(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    await imported(memory, SAMPLES)
    await memory.observe("Pier 4", "open", "until eight", revision_policy="replace")
    await memory.observe("Pier 4", "open", "until ten", revision_policy="replace")
    exports = Exports(memory.database, memory.directory, memory.clock, transfer.artifacts(memory))
    async with exports.open(memory.trust, ExportRequest(form=ExportForm.RFC)) as export:
        file = transfer.file(b"".join([chunk.data async for chunk in export.chunks()]))
    other.clock.forward(timedelta(days=1))
    dry = await imported(other, file, dry_run=True)
    assert await listed(other, MemoryType.ENTITY) == []
    summary = await imported(other, file)
    assert (summary.refused, dict(dry.records)) == ([], dict(summary.records))
    for type_ in (MemoryType.ENTITY, MemoryType.SEMANTIC, MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH):
        ours, theirs = await listed(memory, type_), await listed(other, type_)
        assert {identity(one) for one in ours} == {identity(one) for one in theirs}
    for predicate in ("supersedes", "subject_entity", "object_entity", "derived_semantic", "mentions_entity"):
        links = [await store.rows(LINKS, name=predicate) for store in (memory, other)]
        here, there = ({tuple(row.values()) for row in found} for found in links)
        assert here == there
    again = await imported(other, file)
    assert (again.captured, again.replayed, again.refused) == (0, summary.captured, [])


def identity(record: MemoryRecord) -> tuple[Any, ...]:
    return record.id, record.state, record.version, record.name, record.text, record.created_at, record.updated_at


async def test_names_of_files_that_are_no_utf_8_are_written_with_escapes(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / os.fsdecode(b"bad\xff\xfename.md")).write_text("# Cranes\n\nThe crane lifts 25 tonnes.\n")
    (folder / os.fsdecode(b"bad\xfe.json")).write_text("[3]")
    summary = await imported(memory, folder)
    assert summary.captured > 0
    (refused,) = summary.refused
    assert "bad\\xfe.json" in refused.item
    assert (await imported(memory, folder)).captured == 0
