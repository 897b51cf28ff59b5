"""The mirror equals Postgres after every kind of write, after outages, and after a loss of its data."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
from fix_memory import NOON, Memory, until
from fix_mirror import PLAN, MirroredMemory, capture_every_kind
from fix_neo4j import BoltProxy
from sqlalchemy import text
from structlog.testing import capture_logs

from stratagraph.graph_sync import applying, mapping, worker
from stratagraph.graph_sync.batches import CheckpointLock, GenerationChanged, MirrorBatch
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.reader import Neo4jGraphReader
from stratagraph.graph_sync.statements import of_type, statement
from stratagraph.graph_sync.worker import SyncConfig, mirror_feed
from stratagraph.store.feed.changes import ROWS, Change, Kind, append_changes
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.traversal.neighbourhood import Edge, GraphReader

pytestmark = pytest.mark.neo4j


def is_tool(row: Any) -> bool:
    return any(one["namespace"] == "tool" for one in row.payload.get("identifiers") or ())


async def test_captures_of_every_kind_are_mirrored_exactly(mirrored: MirroredMemory) -> None:
    await capture_every_kind(mirrored.memory)
    result = await mirrored.sync()
    assert (result.dead_letters, result.rebuilt) == (0, True)
    assert await mirrored.counts_are_equal()
    async with mirrored.memory.database.engine.begin() as connection:
        records = (await connection.execute(text("SELECT * FROM record"))).all()
        relations = (
            await connection.execute(text("SELECT e.*, p.name FROM relation e JOIN predicate p ON p.id = e.predicate"))
        ).all()
    assert {MemoryType(row.type) for row in records} == set(MemoryType)
    for row in records:
        labels, properties = await mirrored.existing_node(row.id)
        live = RecordState(row.state) in (RecordState.ACTIVE, RecordState.CONTESTED)
        type_label = "".join(word.capitalize() for word in MemoryType(row.type).label.split("_"))
        assert labels >= {"Mirrored", "Memory" if live else "Past", type_label}
        assert ("Memory" in labels) is live
        assert properties.pop("created_at").to_native() == row.created_at
        assert properties.pop("occurred_at").to_native() == row.occurred_at
        assert 0 <= properties.pop("d") < 2**32
        assert properties == {
            "ten": row.tenant,
            "id": str(row.id),
            "type": MemoryType(row.type).label,
            "state": RecordState(row.state).label,
            "name": row.name,
            "acl": row.scope * 8 + row.sensitivity,
            "ver": row.row_version,
            "gen": 1,
            **({"tool": row.name} if is_tool(row) else {}),
            **({"plan": PLAN["plan_id"], "version": PLAN["version"]} if row.type == MemoryType.PLAN_GRAPH else {}),
        }
    fetch_relations = await mirrored.cypher(
        "MATCH (a)-[r]->(b) WHERE r.gen IS NOT NULL RETURN a.id AS source, type(r) AS type, b.id AS target,"
        " r.id AS id, r.w AS w, r.ver AS ver, valueType(r.created_at) AS time"
    )
    assert {
        (row["id"], row["source"], row["type"], row["target"], row["w"], row["ver"]) for row in fetch_relations
    } == {
        (str(row.id), str(row.source), row.name.upper(), str(row.target), row.weight, row.row_version)
        for row in relations
    }
    assert {"PART_OF", "FOLLOWS", "SUBJECT_ENTITY", "SUPERSEDES", "MENTIONS_ENTITY"} <= {
        row["type"] for row in fetch_relations
    }
    assert {row["time"] for row in fetch_relations} == {"ZONED DATETIME NOT NULL"}


@pytest.mark.parametrize("kind", list(ROWS))
async def test_a_row_that_another_transaction_creates_at_the_same_moment_is_written_and_no_dead_letter(
    mirrored: MirroredMemory, kind: Kind
) -> None:
    await mirrored.memory.observe("Alice", "lives_in", "Basel")
    await mirrored.sync()  # so that relationship types have their constraints
    await mirrored.memory.observe("Bob", "lives_in", "Bern")
    rows, _ = await mirrored.source.scan(kind, None, tenant=None, page=1_000)
    key = {"ten": rows[-1]["tenant"], "id": str(rows[-1]["id"])}
    if kind is Kind.RECORD:
        create = "CREATE (:Mirrored {ten: $ten, id: $id})"  # as a worker does that writes a relation first
    else:
        names = await mirrored.memory.directory.predicate_names({(row["tenant"], row["predicate"]) for row in rows})
        predicate = names[rows[-1]["tenant"], rows[-1]["predicate"]]
        key |= {"source": str(rows[-1]["source"]), "target": str(rows[-1]["target"])}
        create = (
            "MERGE (a:Mirrored {ten: $ten, id: $source}) MERGE (b:Mirrored {ten: $ten, id: $target})"
            f" CREATE (a)-[:{predicate.upper()} {{ten: $ten, id: $id, ver: 0, gen: 1}}]->(b)"
        )
    async with mirrored.mirror.driver.session() as session:
        other = await session.begin_transaction()
        await (await other.run(create, key)).consume()
        follow = asyncio.create_task(mirrored.worker.follow_once())
        await until(lambda: _is_blocked(mirrored))
        await other.commit()
    assert (await follow).dead_letters == 0
    assert await mirrored.mirror_is_equal()


async def _is_blocked(mirrored: MirroredMemory) -> bool:
    rows = await mirrored.cypher("SHOW TRANSACTIONS YIELD status WHERE status STARTS WITH 'Blocked' RETURN status")
    return bool(rows)


async def test_a_backlog_is_read_in_chunks_and_written_in_smaller_pages(
    mirrored: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "CHUNK", 17)
    monkeypatch.setattr(applying, "FIRST_BATCH", 3)
    await mirrored.sync()
    await capture_every_kind(mirrored.memory)
    pages: list[int] = []
    apply = mirrored.mirror.apply

    async def counted(batch: MirrorBatch, lock: CheckpointLock, **position: Any) -> None:
        pages.append(len(batch.nodes) + sum(len(rows) for rows in batch.relations.values()))
        await apply(batch, lock, **position)

    monkeypatch.setattr(mirrored.mirror, "apply", counted)
    assert (await mirrored.start_afresh()).applied > 17
    assert pages[0] <= 3
    assert len(pages) > 2
    assert await mirrored.mirror_is_equal()


async def test_rows_are_looked_up_by_their_keys_however_few_the_mirror_has(mirrored: MirroredMemory) -> None:
    """A plan that reads all rows is the cheapest for a few, and Neo4j goes on using it while an import adds more."""
    await mirrored.memory.observe("Alice", "knows", "Bob")
    await mirrored.sync()
    texts = [statement(name) for name in ("create_nodes", "upsert_nodes", "detach_steps", "claim_tools")]
    texts += [statement(name) for name in ("attach_steps", "delete_unused_tools", "delete_nodes")]
    texts += [
        of_type(name, predicate)
        for name in ("create_relations", "upsert_relations", "delete_relations")
        for predicate in await mirrored.mirror.relationship_types()
    ]
    async with mirrored.mirror.driver.session() as session:
        await (await session.run("CALL db.clearQueryCaches()")).consume()
        for text_ in texts:
            summary = await (await session.run(f"EXPLAIN {text_}", rows=[], tools=[])).consume()
            assert summary.plan is not None
            operators = _operators(summary.plan)
            assert not [one for one in operators if "Scan" in one], (text_, operators)


def _operators(plan: Mapping[str, Any]) -> list[str]:
    return [plan["operatorType"], *(one for child in plan.get("children", ()) for one in _operators(child))]


async def test_the_mirror_contains_no_text_and_no_payload(mirrored: MirroredMemory) -> None:
    await capture_every_kind(mirrored.memory)
    longer_than_a_caption = "x" * mapping.NAME_LENGTH
    await mirrored.memory.turn(f"{longer_than_a_caption} xyzzy")
    content = {"content": f"{longer_than_a_caption} xyzzy"}
    secret = {"tool_name": "deploy", "args": content, "result": content, "call_id": "c9"}
    await mirrored.memory.remember(SourceKind.TOOL_OUTPUT, secret, context={"labels": ["xyzzy"]}, tags=("xyzzy",))
    await mirrored.sync()
    dump = await mirrored.dump()
    assert not any("xyzzy" in item for item in dump)
    keys = {key for item in dump for key in json.loads(item)["p"]}
    assert keys == {
        *("ten", "id", "type", "state", "name", "acl", "created_at", "occurred_at", "ver", "gen", "d"),
        *("w", "op", "tool", "plan", "version"),
    }


@pytest.mark.parametrize("names_up_to", [Sensitivity.PUBLIC, Sensitivity.LOW, Sensitivity.HIGH])
async def test_names_types_and_steps_are_mirrored_only_up_to_the_configured_sensitivity(
    mirrored: MirroredMemory, names_up_to: Sensitivity
) -> None:
    mirrored = MirroredMemory(mirrored.memory, mirrored.mirror, SyncConfig(names_up_to=names_up_to))
    ids: dict[Sensitivity, list[UUID]] = {}
    for level in Sensitivity:
        word = f"w{level.label}w"
        plan = {"plan_id": word, "version": "1", "nodes": [{"id": f"{word}1", "op": f"{word}2"}], "edges": []}
        entity = {"canonical_name": word, "primary_type": word}
        kept = [
            await mirrored.memory.turn(word, sensitivity=level),
            await mirrored.memory.observe(word, "is", "tall", sensitivity=level),
            await mirrored.memory.remember(
                SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH, sensitivity=level
            ),
            await mirrored.memory.remember(
                SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY, sensitivity=level
            ),
        ]
        ids[level] = [one.primary.id for one in kept]
    await mirrored.sync()
    dump = "\n".join(await mirrored.dump()).lower()
    for level, of_level in ids.items():
        # From HIGH on the name is encrypted, and the mirror worker has no key.
        has_name = level <= names_up_to and level < Sensitivity.HIGH
        assert (f"w{level.label}w" in dump) is has_name, level
        for id_ in of_level:
            assert ("name" in (await mirrored.existing_node(id_))[1]) is has_name
    assert await mirrored.counts_are_equal()


async def test_raising_the_sensitivity_of_a_record_removes_its_names_from_the_mirror(mirrored: MirroredMemory) -> None:
    plan = (
        await mirrored.memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
    ).primary.id
    entity = (
        await mirrored.memory.remember(
            SourceKind.OBSERVATION,
            {"canonical_name": "Orion", "primary_type": "Telescope"},
            proposed_type=MemoryType.ENTITY,
        )
    ).primary.id
    await mirrored.sync()
    assert "Telescope" in (await mirrored.existing_node(entity))[0]
    for id_ in (plan, entity):
        await mirrored.rewrite(id_, "sensitivity = 3")
    await mirrored.sync()
    dump = "\n".join(await mirrored.dump())
    for word in ("Orion", "Telescope", "deploy"):
        assert word not in dump
    for tool in ("build", "ship"):  # the tools that the plan uses are records of their own
        (line,) = [line for line in dump.splitlines() if tool in line]
        assert f'"name": "{tool}"' in line
        assert '"type": "entity"' in line
    for id_ in (plan, entity):
        assert (await mirrored.existing_node(id_))[1]["acl"] % 8 == 3


async def test_entity_types_become_labels_except_those_that_the_mirror_reserves(mirrored: MirroredMemory) -> None:
    entity = {
        "canonical_name": "Orion",
        "primary_type": "Project",
        "types": ["data set", "Memory", "Past", "SyncCheckpoint"],
    }
    kept = await mirrored.memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)
    await mirrored.sync()
    assert (await mirrored.existing_node(kept.primary.id))[0] == {"Mirrored", "Memory", "Entity", "Project", "DataSet"}


async def test_superseded_facts_have_the_label_past_and_are_not_expanded(mirrored: MirroredMemory) -> None:
    kept = await capture_every_kind(mirrored.memory)
    await mirrored.sync()
    old, new, contested = (kept[name].primary.id for name in ("old", "new", "contested"))
    assert (await mirrored.existing_node(old))[0] == {"Mirrored", "Past", "Semantic"}
    assert (await mirrored.existing_node(new))[0] == {"Mirrored", "Memory", "Semantic"}
    assert (await mirrored.existing_node(contested))[0] == {"Mirrored", "Memory", "Semantic"}
    reader = await reader_of(mirrored)
    caller = await mirrored.memory.directory.resolve(mirrored.memory.trust)
    current = await reader.edges_of(caller, [new], at=NOON, fan_out=100, history=False)
    with_past = await reader.edges_of(caller, [new], at=NOON, fan_out=100, history=True)
    assert old not in {edge.far for edge in current}
    assert old in {edge.far for edge in with_past}


async def test_a_fact_that_is_superseded_after_it_was_mirrored_gets_the_label_past(mirrored: MirroredMemory) -> None:
    old = await mirrored.memory.observe("Alice", "lives_in", "Bern", revision_policy="replace")
    await mirrored.sync()
    assert "Memory" in (await mirrored.existing_node(old.primary.id))[0]
    await mirrored.memory.observe("Alice", "lives_in", "Basel", revision_policy="replace")
    result = await mirrored.sync()
    assert result.applied > 0
    assert (await mirrored.existing_node(old.primary.id))[0] == {"Mirrored", "Past", "Semantic"}
    assert await mirrored.counts_are_equal()


async def test_replaying_the_same_pages_changes_nothing(mirrored: MirroredMemory) -> None:
    await mirrored.sync()
    await capture_every_kind(mirrored.memory)
    first = await mirrored.sync()
    before = await mirrored.dump()
    await mirrored.worker.release()
    await mirrored.run_sql(
        "UPDATE sync_cursor SET snapshot = (SELECT min(id) FROM sync_snapshot), window_snapshot = NULL, window_seq = 0"
    )
    again = await mirrored.start_afresh()
    assert not again.rebuilt
    assert again.applied >= first.applied
    assert await mirrored.dump() == before
    assert (await mirrored.start_afresh()).idle


async def steps(mirrored: MirroredMemory) -> dict[str, set[tuple[str, str]]]:
    """Return a plan's relationships by type, each as its two ends; steps without the id of their record."""
    found: dict[str, set[tuple[str, str]]] = {}
    for row in await mirrored.cypher(
        "MATCH (a)-[r]->(b) WHERE r.gen IS NULL AND NOT r:IS_TOOL RETURN type(r) AS type,"
        " coalesce(split(a.id, '/')[-1], a.name) AS source, coalesce(split(b.id, '/')[-1], b.name) AS target"
    ):
        found.setdefault(row["type"], set()).add((row["source"], row["target"]))
    return found


async def test_the_steps_of_a_plan_are_replaced_when_its_record_changes(mirrored: MirroredMemory) -> None:
    kept = await mirrored.memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
    plan = str(kept.primary.id)
    await mirrored.sync()
    assert await steps(mirrored) == {
        "HAS_STEP": {(plan, "a"), (plan, "b"), (plan, "c")},
        "USES_TOOL": {("a", "build"), ("b", "test"), ("c", "ship")},
        "PRECEDES": {("a", "b"), ("b", "c")},
        "FEEDS": {("a", "c")},
    }
    assert {row["op"] for row in await mirrored.cypher("MATCH (s:PlanStep) RETURN s.op AS op")} == {
        "build",
        "test",
        "ship",
    }
    assert await mirrored.counts_are_equal(), "steps and tools are not counted as records"
    nodes = [{"id": "a", "op": "build"}, {"id": "z", "op": "notify"}]
    changed = PLAN | {"nodes": nodes, "edges": [{"from": "a", "to": "z", "kind": "data"}]}
    await mirrored.rewrite(
        kept.primary.id, "payload = CAST(:payload AS jsonb)", payload=json.dumps({"kind": "plan_graph", **changed})
    )
    await mirrored.sync()
    assert await steps(mirrored) == {
        "HAS_STEP": {(plan, "a"), (plan, "z")},
        "USES_TOOL": {("a", "build"), ("z", "notify")},
        "FEEDS": {("a", "z")},
    }
    tools = {row["name"] for row in await mirrored.cypher("MATCH (t:Tool) RETURN t.name AS name")}
    assert tools == {"build", "notify"}, "a tool is deleted with the last step that uses it"


async def test_two_plans_share_tools_but_no_steps(mirrored: MirroredMemory) -> None:
    first = await mirrored.memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
    other = PLAN | {"plan_id": "other"}
    await mirrored.memory.remember(SourceKind.OBSERVATION, other, proposed_type=MemoryType.PLAN_GRAPH)
    await mirrored.sync()
    count = (await mirrored.cypher("MATCH (s:PlanStep) WITH count(s) AS s MATCH (t:Tool) RETURN s, count(t) AS t"))[0]
    assert (count["s"], count["t"]) == (6, 3)
    await mirrored.delete(first.primary.id)
    await mirrored.sync()
    count = (await mirrored.cypher("MATCH (s:PlanStep) WITH count(s) AS s MATCH (t:Tool) RETURN s, count(t) AS t"))[0]
    assert (count["s"], count["t"]) == (3, 3)


async def test_a_relation_written_before_its_records_creates_stubs_that_no_query_returns(
    mirrored: MirroredMemory,
) -> None:
    await mirrored.sync()
    fact = await mirrored.memory.observe("Alice", "works_at", "Acme")
    generation = (await mirrored.checkpoint()).generation
    await mirrored.write_late([await mirrored.batch(Kind.RELATION, generation)], generation)
    assert await mirrored.node(fact.primary.id) == (
        {"Mirrored"},
        {"ten": (await mirrored.tenant()).id, "id": str(fact.primary.id)},
    )
    reader = await reader_of(mirrored)
    caller = await mirrored.memory.directory.resolve(mirrored.memory.trust)

    async def edges() -> list[Edge]:
        return await reader.edges_of(caller, [fact.primary.id], at=NOON, fan_out=100, history=True)

    assert await edges() == []
    assert (await mirrored.mirror.counts())[0] == 0
    await mirrored.sync()
    assert {edge.far for edge in await edges()} == {edge.target for edge in fact.edges}
    assert await mirrored.counts_are_equal()


async def test_a_late_replay_does_not_restore_a_deleted_record(mirrored: MirroredMemory) -> None:
    fact = await mirrored.memory.observe("Alice", "works_at", "Acme")
    await mirrored.sync()
    alice = next(edge.target for edge in fact.edges if edge.predicate == "subject_entity")
    generation = (await mirrored.checkpoint()).generation
    late = await mirrored.late_batches()
    await mirrored.delete(alice)
    await mirrored.sync()
    assert await mirrored.counts_are_equal()
    labels, left = await mirrored.existing_node(alice)
    assert labels == {"Mirrored", "Tomb"}
    assert left.keys() == {"ten", "id", "ver", "gen", "d", "dead", "at"}
    before = await mirrored.dump()
    await mirrored.write_late(late, generation)
    assert await mirrored.dump() == before
    assert await mirrored.counts_are_equal()


async def test_deleting_a_plan_deletes_its_steps_and_tools(mirrored: MirroredMemory) -> None:
    kept = await mirrored.memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
    await mirrored.sync()
    await mirrored.delete(kept.primary.id)
    await mirrored.sync()
    assert await steps(mirrored) == {}
    assert await mirrored.cypher("MATCH (n:PlanStep|Tool) RETURN n.name AS name") == []


async def test_an_ended_relation_is_deleted_and_a_late_replay_does_not_restore_it(mirrored: MirroredMemory) -> None:
    fact = await mirrored.memory.observe("Alice", "works_at", "Acme")
    await mirrored.sync()
    generation = (await mirrored.checkpoint()).generation
    late = await mirrored.late_batches()
    ended = fact.edges[0].id
    tenant = await mirrored.tenant()
    async with mirrored.memory.database.engine.begin() as connection:
        await connection.execute(
            text("UPDATE relation SET ended_at = now(), row_version = row_version + 1 WHERE id = :id"), {"id": ended}
        )
        await append_changes(connection, tenant, [Change(kind=Kind.RELATION, id=ended, version=2)])
    await mirrored.sync()
    assert await mirrored.counts_are_equal()
    before = await mirrored.dump()
    await mirrored.write_late(late, generation)
    assert await mirrored.dump() == before


async def reader_of(mirrored: MirroredMemory) -> GraphReader:
    """Return the mirror's engine; it requires the mirror to be as far as Postgres states."""
    freshness = await MirrorFreshness(mirrored.memory.database, "neo4j").of((await mirrored.tenant()).id)
    assert freshness is not None
    return Neo4jGraphReader(mirrored.mirror).expecting(freshness)


EMPTY = "MATCH (n) DETACH DELETE n"


async def test_an_emptied_mirror_is_rebuilt_when_a_worker_takes_over(mirrored: MirroredMemory) -> None:
    await capture_every_kind(mirrored.memory)
    await mirrored.sync()
    before = await mirrored.dump()
    await mirrored.write_cypher(EMPTY)
    result = await mirrored.start_afresh()
    assert result.rebuilt
    assert await mirrored.counts_are_equal()
    assert [item.replace('"gen": 2', '"gen": 1') for item in await mirrored.dump()] == before
    await mirrored.memory.observe("Bob", "works_at", "Acme")
    await mirrored.sync()
    assert await mirrored.counts_are_equal()


async def test_missing_constraints_are_created_again_when_an_emptied_mirror_is_rebuilt(
    mirrored: MirroredMemory,
) -> None:
    await mirrored.memory.observe("Alice", "works_at", "Acme")
    await mirrored.sync()
    names = "SHOW CONSTRAINTS YIELD name RETURN collect(name) AS names"
    before = (await mirrored.cypher(names))[0]["names"]
    dropped = {"mirrored_key", "rel_subject_entity_key"}
    assert dropped <= set(before)
    await mirrored.write_cypher(EMPTY)  # as if another, empty Neo4j now had this address
    for name in dropped:
        await mirrored.write_cypher(f"DROP CONSTRAINT {name}")
    assert (await mirrored.start_afresh()).rebuilt
    assert dropped <= set((await mirrored.cypher(names))[0]["names"])


async def test_a_mirror_emptied_while_its_worker_runs_is_rebuilt(
    mirrored: MirroredMemory,
) -> None:
    await capture_every_kind(mirrored.memory)
    await mirrored.sync()
    await mirrored.write_cypher(EMPTY)
    await mirrored.memory.observe("Bob", "works_at", "Acme")
    running = asyncio.create_task(mirrored.worker.run())

    async def is_rebuilt() -> bool:
        return await mirrored.generation() == 2 and await mirrored.counts_are_equal()

    await until(is_rebuilt)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not (await mirrored.start_afresh()).rebuilt
    assert await mirrored.mirror_is_equal()


@pytest.mark.parametrize(
    "tampered",
    [
        "MATCH (c:SyncCheckpoint) SET c.incarnation = 'another database'",
        "MATCH (c:SyncCheckpoint) SET c.nonce = '00000000-0000-0000-0000-000000000000'",
        "MATCH (c:SyncCheckpoint) SET c.snapshot = c.snapshot + 1000",
        "MATCH (c:SyncCheckpoint) SET c.gen = 7",
        "MATCH (c:SyncCheckpoint) SET c.snapshot = 0",
    ],
)
async def test_a_mirror_of_another_database_or_time_is_rebuilt_and_keeps_nothing_of_it(
    mirrored: MirroredMemory, tampered: str
) -> None:
    fact = await mirrored.memory.observe("Alice", "works_at", "Acme")
    await mirrored.sync()
    kept = fact.primary.id
    await mirrored.write_cypher(tampered)
    await mirrored.write_cypher(
        "MATCH (n:Mirrored {id: $id}) SET n.ver = 99, n.name = 'of a lost future'", id=str(kept)
    )
    await mirrored.write_cypher(
        "MATCH (a:Mirrored {id: $id}) CREATE (n:Mirrored:Memory {ten: a.ten, id: 'lost', gen: a.gen, ver: 5})"
        " CREATE (a)-[:LOST {ten: a.ten, id: 'lost too', gen: a.gen, ver: 1, w: 1.0}]->(n)",
        id=str(kept),
    )
    result = await mirrored.start_afresh()
    assert result.rebuilt
    assert await mirrored.counts_are_equal()
    assert (await mirrored.existing_node(kept))[1]["name"] == fact.primary.name
    assert not any("lost" in item for item in await mirrored.dump())
    assert not (await mirrored.start_afresh()).rebuilt


async def test_a_mirror_with_the_property_names_of_an_earlier_version_is_rebuilt_without_an_error(
    mirrored: MirroredMemory,
) -> None:
    fact = await mirrored.memory.observe("Alice", "works_at", "Acme")
    await mirrored.sync()
    await mirrored.worker.release()
    await mirrored.write_cypher("MATCH (c:SyncCheckpoint) SET c.tick = c.snapshot REMOVE c.snapshot")
    await mirrored.write_cypher("MATCH (c:SyncCheckpoint {k: 'neo4j:leader'}) SET c.k = 'neo4j:keeper'")
    await mirrored.write_cypher("MATCH (i:MirrorInfo) SET i.parked = i.dead_letters REMOVE i.dead_letters")
    reader = await reader_of(mirrored)
    caller = await mirrored.memory.directory.resolve(mirrored.memory.trust)
    with pytest.raises(MirrorUnavailable, match="its worker repairs it"):
        await reader.edges_of(caller, [fact.primary.id], at=NOON, fan_out=10, history=False)

    left = "MATCH (n) WHERE n.tick IS NOT NULL OR n.parked IS NOT NULL OR n.k = 'neo4j:keeper' RETURN n"

    async def rebuilt() -> bool:
        return await mirrored.generation() == 2 and await mirrored.cypher(left) == []

    with capture_logs() as logs:
        running = asyncio.create_task(mirrored.another_worker().run())
        await until(rebuilt)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert [line["event"] for line in logs].count("mirror rebuild started") == 1
    assert not [line for line in logs if line["log_level"] == "error" or line["event"] == "mirror worker waits"]
    assert len(await mirrored.mirror.checkpoints()) == 17
    assert await reader.edges_of(caller, [fact.primary.id], at=NOON, fan_out=10, history=False)
    assert not (await mirrored.start_afresh()).rebuilt
    assert await mirrored.mirror_is_equal()


async def test_a_late_write_of_an_older_generation_is_refused(mirrored: MirroredMemory) -> None:
    kept = await capture_every_kind(mirrored.memory)
    await mirrored.sync()
    old = await mirrored.checkpoint()
    late = await mirrored.late_batches()
    for row in late[0].nodes:
        row[3], row[12] = 98, 99  # upto and ver, as from transactions that a restore rolled back
    await mirrored.delete(kept["entity"].primary.id)  # the rebuild leaves no tombstone of it
    await mirrored.write_cypher("MATCH (c:SyncCheckpoint) SET c.nonce = '00000000-0000-0000-0000-000000000000'")
    assert (await mirrored.start_afresh()).rebuilt
    before, checkpoint = await mirrored.dump(), await mirrored.checkpoint()
    assert checkpoint.generation > old.generation
    with pytest.raises(GenerationChanged):
        await mirrored.write_late(late, old.generation, old)
    assert await mirrored.dump() == before
    assert await mirrored.checkpoint() == checkpoint
    assert not (await mirrored.start_afresh()).rebuilt


async def test_a_late_write_of_the_same_generation_does_not_move_the_checkpoint_back(mirrored: MirroredMemory) -> None:
    await mirrored.memory.observe("Alice", "works_at", "Acme")
    await mirrored.sync()
    old = await mirrored.checkpoint()
    late = await mirrored.late_batches()
    await mirrored.memory.observe("Bob", "works_at", "Acme")
    await mirrored.start_afresh()
    before, checkpoint = await mirrored.dump(), await mirrored.checkpoint()
    assert checkpoint.snapshot > old.snapshot
    await mirrored.write_late(late, old.generation, old)
    assert await mirrored.dump() == before
    assert await mirrored.checkpoint() == checkpoint
    assert not (await mirrored.start_afresh()).rebuilt


@asynccontextmanager
async def refusing(mirrored: MirroredMemory, name: str) -> AsyncIterator[None]:
    """Make the mirror refuse any episodic node of this name during the block."""
    await mirrored.write_cypher("CREATE (:Episodic {name: $name, poison: true})", name=name)
    await mirrored.write_cypher("CREATE CONSTRAINT poison FOR (n:Episodic) REQUIRE n.name IS UNIQUE")
    try:
        yield
    finally:
        await mirrored.write_cypher("DROP CONSTRAINT poison")
        await mirrored.write_cypher("MATCH (n:Episodic {poison: true}) DELETE n")


@pytest.mark.parametrize("rebuilding", [True, False], ids=["in a rebuild", "from the feed"])
async def test_a_refused_change_becomes_a_dead_letter_and_is_applied_after_the_cause_ends(
    mirrored: MirroredMemory, *, rebuilding: bool
) -> None:
    if not rebuilding:
        await mirrored.sync()
    async with refusing(mirrored, "user: poison"):
        for number in range(4):
            await mirrored.memory.turn(f"good {number}")
        bad = await mirrored.memory.turn("poison", context={"mentions": ["Alice"]})
        await mirrored.memory.observe("Alice", "works_at", "Acme")
        if rebuilding:
            await mirrored.memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
        result = await mirrored.sync()
        assert result.rebuilt is rebuilding
        records, relations = await mirrored.source.counts()
        assert await mirrored.mirror.counts() == (records - 1, relations)
        lag = await mirror_feed(mirrored.memory.database).lag()
        assert lag is not None
        assert (lag.changes, lag.dead_letters) == (0, 1)
        assert result.dead_letters == (0 if rebuilding else 1)
        await mirrored.run_sql("UPDATE sync_dead_letter SET next_try = clock_timestamp()")
        await mirrored.sync()
        async with mirrored.memory.database.engine.begin() as connection:
            row = (await connection.execute(text("SELECT id, tries, error FROM sync_dead_letter"))).one()
        assert (row.id, row.tries) == (bad.primary.id, 2)
        assert row.error == "Neo.ClientError.Schema.ConstraintValidationFailed"
    await mirrored.run_sql("UPDATE sync_dead_letter SET next_try = clock_timestamp()")
    await mirrored.sync()
    assert await mirrored.counts_are_equal()
    assert (await mirrored.existing_node(bad.primary.id))[1]["name"] == "user: poison"
    lag = await mirror_feed(mirrored.memory.database).lag()
    assert lag is not None
    assert lag.dead_letters == 0


async def idle(*instances: MirroredMemory) -> None:
    """Let each worker apply changes in turn until none is left."""
    for mirrored in instances:
        await mirrored.worker.follow_once()
    while not all([(await mirrored.worker.follow_once()).idle for mirrored in instances]):
        pass


async def test_two_workers_share_the_shards_and_one_takes_over_all_when_the_other_stops(
    mirrored: MirroredMemory,
) -> None:
    await mirrored.sync()
    other = MirroredMemory(mirrored.memory, mirrored.mirror, mirrored.config)
    feed = mirror_feed(mirrored.memory.database)

    async def shared() -> bool:  # at the latest after a third of a lease
        await idle(mirrored, other)
        return sorted((await feed.holders()).values()) == [8, 8]

    await until(shared)
    for name in ("Alice", "Bob", "Carol", "Dave"):
        await mirrored.memory.observe(name, "works_at", "Acme")
    applied = [(await one.worker.follow_once()).applied for one in (mirrored, other)]
    assert min(applied) > 0
    assert await mirrored.counts_are_equal()
    await mirrored.worker.release()
    await mirrored.memory.observe("Eve", "works_at", "Acme")
    await other.worker.release()
    assert (await other.sync()).applied > 0
    assert list((await feed.holders()).values()) == [16]
    assert await mirrored.mirror_is_equal()
    assert await mirrored.generation() == 1


async def test_a_worker_without_its_lease_writes_nothing_wrong(mirrored: MirroredMemory) -> None:
    await mirrored.sync()
    other = MirroredMemory(mirrored.memory, mirrored.mirror, mirrored.config)
    await mirrored.run_sql("UPDATE sync_cursor SET lease_until = '-infinity'")
    await mirrored.run_sql("DELETE FROM sync_worker")  # so that the other worker's share is all cursors
    await mirrored.memory.observe("Alice", "works_at", "Acme")
    assert (await other.worker.follow_once()).applied > 0
    await mirrored.memory.observe("Bob", "works_at", "Acme")
    await idle(mirrored, other)
    assert await mirrored.counts_are_equal()
    assert not (await mirrored.start_afresh()).rebuilt
    assert await mirrored.mirror_is_equal()


@pytest.fixture
async def guarded(
    memory: Memory, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[MirroredMemory, BoltProxy]]:
    monkeypatch.setattr("stratagraph.graph_sync.mirror.WRITE_RETRY_S", 0.2)
    async with (
        BoltProxy(clean_neo4j) as proxy,
        Mirror(proxy.uri, user=None, password=None, database="neo4j") as mirror,
    ):
        yield MirroredMemory(memory, mirror), proxy


async def test_a_mirror_that_cannot_be_reached_is_unavailable_and_nothing_is_lost(
    guarded: tuple[MirroredMemory, BoltProxy],
) -> None:
    mirrored, proxy = guarded
    await mirrored.sync()
    await mirrored.memory.observe("Alice", "works_at", "Acme")
    await proxy.shut()
    with pytest.raises(MirrorUnavailable):
        await mirrored.sync()
    reader = await reader_of(mirrored)
    caller = await mirrored.memory.directory.resolve(mirrored.memory.trust)
    with pytest.raises(MirrorUnavailable):
        await reader.edges_of(caller, [UUID(int=1)], at=NOON, fan_out=1, history=False)
    proxy.open = True
    await mirrored.sync()
    assert await mirrored.counts_are_equal()


async def test_a_refused_connection_raises_mirror_unavailable(memory: Memory) -> None:
    async with BoltProxy("bolt://127.0.0.1:1") as proxy:
        uri = proxy.uri
    async with Mirror(uri, user=None, password=None, database="neo4j") as mirror:
        with pytest.raises(MirrorUnavailable):
            await mirror.ping()
        with pytest.raises(MirrorUnavailable):
            await MirroredMemory(memory, mirror).sync()


def outage_events(logs: Sequence[Mapping[str, Any]], task: str) -> list[str]:
    """Return the events that one of the worker's two tasks logged about outages of the mirror."""
    return [line["event"] for line in logs if line.get("task") == task and line["event"].startswith("mirror worker")]


async def test_the_worker_survives_an_outage_logs_it_once_and_catches_up(
    guarded: tuple[MirroredMemory, BoltProxy],
) -> None:
    mirrored, proxy = guarded
    with capture_logs() as logs:
        running = asyncio.create_task(mirrored.worker.run())
        await until(mirrored.counts_are_equal)
        await proxy.shut()
        await mirrored.memory.observe("Alice", "works_at", "Acme")

        connections = proxy.connections

        async def has_retried() -> bool:
            return proxy.connections >= connections + 8

        await until(has_retried)
        assert not running.done()
        proxy.open = True
        async with asyncio.timeout(8):  # shorter than a lease, since an outage must not make a worker lose its lease
            await until(mirrored.counts_are_equal)
        await mirrored.memory.observe("Bob", "works_at", "Acme")
        await until(mirrored.counts_are_equal)

        async def is_logged() -> bool:
            return all(
                outage_events(logs, task) == ["mirror worker waits", "mirror worker continues"]
                for task in ("follow", "maintain")
            )

        await until(is_logged)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert await mirrored.generation() == 1, "an outage must not cause a rebuild"


async def test_the_worker_waits_for_a_neo4j_that_refuses_every_statement(
    mirrored: MirroredMemory, clean_neo4j: str
) -> None:
    async with Mirror(clean_neo4j, user=None, password=None, database="nowhere") as unknown_database:
        with capture_logs() as logs:
            running = asyncio.create_task(mirrored.another_worker(unknown_database).run())

            async def waiting() -> bool:
                return running.done() or any(line["event"] == "mirror worker waits" for line in logs)

            await until(waiting)
            assert not running.done(), "the end of the worker would end the API in the same process"
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running


async def test_a_read_beyond_its_timeout_raises_mirror_unavailable(mirrored: MirroredMemory) -> None:
    slow = "UNWIND range(1, 100000000000) AS x WITH x WHERE x < 0 RETURN count(x)"
    with pytest.raises(MirrorUnavailable):
        await mirrored.mirror.read(slow, {}, timeout_s=0.2)
