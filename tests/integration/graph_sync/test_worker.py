"""The mirror shows what the truth holds, no more, no less, whatever happened on the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
from fix_memory import Memory, until
from fix_mirror import PLAN, House, capture_every_kind
from fix_neo4j import BoltProxy
from sqlalchemy import text
from structlog.testing import capture_logs

from stratagraph.graph_sync import mapping
from stratagraph.graph_sync.batches import GenerationChanged
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.reader import Neo4jGraphReader
from stratagraph.graph_sync.worker import SyncConfig, mirror_feed
from stratagraph.store.feed.changes import Change, Kind, append_changes
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity, SourceKind
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.traversal.neighbourhood import Edge, GraphReader

pytestmark = pytest.mark.neo4j


async def test_captures_of_every_kind_arrive_as_they_are(house: House) -> None:
    await capture_every_kind(house.memory)
    result = await house.sync()
    assert (result.dead_letters, result.rebuilt) == (0, True)
    assert await house.counts_are_equal()
    async with house.memory.database.engine.begin() as connection:
        records = (await connection.execute(text("SELECT * FROM record"))).all()
        relations = (
            await connection.execute(text("SELECT e.*, p.name FROM relation e JOIN predicate p ON p.id = e.predicate"))
        ).all()
    assert {MemoryType(row.type) for row in records} == set(MemoryType)
    for row in records:
        labels, shown = await house.seen_node(row.id)
        live = RecordState(row.state) in (RecordState.ACTIVE, RecordState.CONTESTED)
        type_label = "".join(word.capitalize() for word in MemoryType(row.type).label.split("_"))
        assert labels >= {"Mirrored", "Memory" if live else "Past", type_label}
        assert ("Memory" in labels) is live
        assert shown.pop("created_at").to_native() == row.created_at
        assert shown.pop("occurred_at").to_native() == row.occurred_at
        assert 0 <= shown.pop("d") < 2**32
        assert shown == {
            "ten": row.tenant,
            "id": str(row.id),
            "type": MemoryType(row.type).label,
            "state": RecordState(row.state).label,
            "name": row.name,
            "acl": row.scope * 8 + row.sensitivity,
            "ver": row.row_version,
            "gen": 1,
        }
    fetch_relations = await house.cypher(
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


async def test_no_text_and_no_payload_is_in_the_mirror(house: House) -> None:
    await capture_every_kind(house.memory)
    longer_than_a_caption = "x" * mapping.NAME_LENGTH
    await house.memory.turn(f"{longer_than_a_caption} xyzzy")
    said = {"said": f"{longer_than_a_caption} xyzzy"}
    secret = {"tool_name": "deploy", "args": said, "result": said, "call_id": "c9"}
    await house.memory.remember(SourceKind.TOOL_OUTPUT, secret, context={"labels": ["xyzzy"]}, tags=("xyzzy",))
    await house.sync()
    dump = await house.dump()
    assert not any("xyzzy" in item for item in dump)
    keys = {key for item in dump for key in json.loads(item)["p"]}
    assert keys == {
        *("ten", "id", "type", "state", "name", "acl", "created_at", "occurred_at", "ver", "gen", "d"),
        *("w", "op"),
    }


@pytest.mark.parametrize("names_up_to", [Sensitivity.PUBLIC, Sensitivity.LOW, Sensitivity.HIGH])
async def test_names_and_what_they_tell_are_mirrored_only_up_to_the_configured_level(
    house: House, names_up_to: Sensitivity
) -> None:
    house = House(house.memory, house.mirror, SyncConfig(names_up_to=names_up_to))
    ids: dict[Sensitivity, list[UUID]] = {}
    for level in Sensitivity:
        word = f"w{level.label}w"
        plan = {"plan_id": word, "version": "1", "nodes": [{"id": f"{word}1", "op": f"{word}2"}], "edges": []}
        entity = {"canonical_name": word, "primary_type": word}
        kept = [
            await house.memory.turn(word, sensitivity=level),
            await house.memory.observe(word, "is", "tall", sensitivity=level),
            await house.memory.remember(
                SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH, sensitivity=level
            ),
            await house.memory.remember(
                SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY, sensitivity=level
            ),
        ]
        ids[level] = [one.primary.id for one in kept]
    await house.sync()
    dump = "\n".join(await house.dump()).lower()
    for level, of_level in ids.items():
        # From HIGH on it is sealed, and the mirror has no key.
        told = level <= names_up_to and level < Sensitivity.HIGH
        assert (f"w{level.label}w" in dump) is told, level
        for id_ in of_level:
            assert ("name" in (await house.seen_node(id_))[1]) is told
    assert await house.counts_are_equal()


async def test_raising_a_records_sensitivity_takes_its_names_out_of_the_mirror(house: House) -> None:
    plan = (await house.memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)).primary.id
    entity = (
        await house.memory.remember(
            SourceKind.OBSERVATION,
            {"canonical_name": "Orion", "primary_type": "Telescope"},
            proposed_type=MemoryType.ENTITY,
        )
    ).primary.id
    await house.sync()
    assert "Telescope" in (await house.seen_node(entity))[0]
    for id_ in (plan, entity):
        await house.rewrite(id_, "sensitivity = 3")
    await house.sync()
    dump = "\n".join(await house.dump())
    for word in ("Orion", "Telescope", "deploy", "build", "ship"):
        assert word not in dump
    for id_ in (plan, entity):
        assert (await house.seen_node(id_))[1]["acl"] % 8 == 3


async def test_entity_types_become_labels_and_never_one_of_the_mirrors_own(house: House) -> None:
    entity = {
        "canonical_name": "Orion",
        "primary_type": "Project",
        "types": ["data set", "Memory", "Past", "SyncCheckpoint"],
    }
    kept = await house.memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)
    await house.sync()
    assert (await house.seen_node(kept.primary.id))[0] == {"Mirrored", "Memory", "Entity", "Project", "DataSet"}


async def test_superseded_facts_carry_past_and_expansion_skips_them(house: House) -> None:
    kept = await capture_every_kind(house.memory)
    await house.sync()
    old, new, contested = (kept[name].primary.id for name in ("old", "new", "contested"))
    assert (await house.seen_node(old))[0] == {"Mirrored", "Past", "Semantic"}
    assert (await house.seen_node(new))[0] == {"Mirrored", "Memory", "Semantic"}
    assert (await house.seen_node(contested))[0] == {"Mirrored", "Memory", "Semantic"}
    reader = await reader_of(house)
    caller = await house.memory.directory.resolve(house.memory.trust)
    current = await reader.edges_of(caller, [new], fan_out=100, history=False)
    with_past = await reader.edges_of(caller, [new], fan_out=100, history=True)
    assert old not in {edge.far for edge in current}
    assert old in {edge.far for edge in with_past}


async def test_a_fact_that_is_superseded_later_changes_its_label(house: House) -> None:
    old = await house.memory.observe("Alice", "lives_in", "Bern", revision_policy="replace")
    await house.sync()
    assert "Memory" in (await house.seen_node(old.primary.id))[0]
    await house.memory.observe("Alice", "lives_in", "Basel", revision_policy="replace")
    result = await house.sync()
    assert result.applied > 0
    assert (await house.seen_node(old.primary.id))[0] == {"Mirrored", "Past", "Semantic"}
    assert await house.counts_are_equal()


async def test_replaying_the_same_pages_changes_nothing(house: House) -> None:
    await house.sync()
    await capture_every_kind(house.memory)
    first = await house.sync()
    before = await house.dump()
    await house.worker.release()
    await house.run_sql(
        "UPDATE sync_cursor SET snapshot = (SELECT min(id) FROM sync_snapshot), window_snapshot = NULL, window_seq = 0"
    )
    again = await house.start_afresh()
    assert not again.rebuilt
    assert again.applied >= first.applied
    assert await house.dump() == before
    assert (await house.start_afresh()).idle


async def steps(house: House) -> dict[str, set[tuple[str, str]]]:
    """A plan's drawing: relationship types with the ends they join, steps without their record's id."""
    found: dict[str, set[tuple[str, str]]] = {}
    for row in await house.cypher(
        "MATCH (a)-[r]->(b) WHERE r.gen IS NULL RETURN type(r) AS type,"
        " coalesce(split(a.id, '/')[-1], a.name) AS source, coalesce(split(b.id, '/')[-1], b.name) AS target"
    ):
        found.setdefault(row["type"], set()).add((row["source"], row["target"]))
    return found


async def test_a_plan_becomes_steps_that_are_replaced_when_its_row_changes(house: House) -> None:
    kept = await house.memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
    plan = str(kept.primary.id)
    await house.sync()
    assert await steps(house) == {
        "HAS_STEP": {(plan, "a"), (plan, "b"), (plan, "c")},
        "USES_TOOL": {("a", "build"), ("b", "test"), ("c", "ship")},
        "PRECEDES": {("a", "b"), ("b", "c")},
        "FEEDS": {("a", "c")},
    }
    assert {row["op"] for row in await house.cypher("MATCH (s:PlanStep) RETURN s.op AS op")} == {
        "build",
        "test",
        "ship",
    }
    assert await house.counts_are_equal(), "steps and tools are no records"
    nodes = [{"id": "a", "op": "build"}, {"id": "z", "op": "notify"}]
    changed = PLAN | {"nodes": nodes, "edges": [{"from": "a", "to": "z", "kind": "data"}]}
    await house.rewrite(
        kept.primary.id, "payload = CAST(:payload AS jsonb)", payload=json.dumps({"kind": "plan_graph", **changed})
    )
    await house.sync()
    assert await steps(house) == {
        "HAS_STEP": {(plan, "a"), (plan, "z")},
        "USES_TOOL": {("a", "build"), ("z", "notify")},
        "FEEDS": {("a", "z")},
    }
    tools = {row["name"] for row in await house.cypher("MATCH (t:Tool) RETURN t.name AS name")}
    assert tools == {"build", "notify"}, "a tool goes with the last step that used it"


async def test_two_plans_share_their_tools_and_never_a_step(house: House) -> None:
    first = await house.memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
    other = PLAN | {"plan_id": "other"}
    await house.memory.remember(SourceKind.OBSERVATION, other, proposed_type=MemoryType.PLAN_GRAPH)
    await house.sync()
    count = (await house.cypher("MATCH (s:PlanStep) WITH count(s) AS s MATCH (t:Tool) RETURN s, count(t) AS t"))[0]
    assert (count["s"], count["t"]) == (6, 3)
    await house.delete(first.primary.id)
    await house.sync()
    count = (await house.cypher("MATCH (s:PlanStep) WITH count(s) AS s MATCH (t:Tool) RETURN s, count(t) AS t"))[0]
    assert (count["s"], count["t"]) == (3, 3)


async def test_a_relation_that_comes_before_its_nodes_makes_stubs_nobody_sees_until_they_do(house: House) -> None:
    await house.sync()
    fact = await house.memory.observe("Alice", "works_at", "Acme")
    generation = (await house.checkpoint()).generation
    await house.write_late([await house.batch(Kind.RELATION, generation)], generation)
    assert await house.node(fact.primary.id) == (
        {"Mirrored"},
        {"ten": (await house.tenant()).id, "id": str(fact.primary.id)},
    )
    reader = await reader_of(house)
    caller = await house.memory.directory.resolve(house.memory.trust)

    async def edges() -> list[Edge]:
        return await reader.edges_of(caller, [fact.primary.id], fan_out=100, history=True)

    assert await edges() == []
    assert (await house.mirror.counts())[0] == 0
    await house.sync()
    assert {edge.far for edge in await edges()} == {edge.target for edge in fact.edges}
    assert await house.counts_are_equal()


async def test_a_deleted_record_leaves_a_tombstone_that_a_late_replay_does_not_revive(house: House) -> None:
    fact = await house.memory.observe("Alice", "works_at", "Acme")
    await house.sync()
    alice = next(edge.target for edge in fact.edges if edge.predicate == "subject_entity")
    generation = (await house.checkpoint()).generation
    late = await house.late_batches()
    await house.delete(alice)
    await house.sync()
    assert await house.counts_are_equal()
    labels, left = await house.seen_node(alice)
    assert labels == {"Mirrored", "Tomb"}
    assert left.keys() == {"ten", "id", "ver", "gen", "dead", "at"}
    before = await house.dump()
    await house.write_late(late, generation)
    assert await house.dump() == before
    assert await house.counts_are_equal()


async def test_a_deleted_plan_takes_its_steps_and_tools_along(house: House) -> None:
    kept = await house.memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
    await house.sync()
    await house.delete(kept.primary.id)
    await house.sync()
    assert await steps(house) == {}
    assert await house.cypher("MATCH (n:PlanStep|Tool) RETURN n.name AS name") == []


async def test_an_ended_relation_goes_and_does_not_come_back(house: House) -> None:
    fact = await house.memory.observe("Alice", "works_at", "Acme")
    await house.sync()
    generation = (await house.checkpoint()).generation
    late = await house.late_batches()
    ended = fact.edges[0].id
    tenant = await house.tenant()
    async with house.memory.database.engine.begin() as connection:
        await connection.execute(
            text("UPDATE relation SET ended_at = now(), row_version = row_version + 1 WHERE id = :id"), {"id": ended}
        )
        await append_changes(connection, tenant, [Change(kind=Kind.RELATION, id=ended, version=2)])
    await house.sync()
    assert await house.counts_are_equal()
    before = await house.dump()
    await house.write_late(late, generation)
    assert await house.dump() == before


async def reader_of(house: House) -> GraphReader:
    """The mirror's engine, which expects the mirror to be as far as the truth says."""
    least = await MirrorFreshness(house.memory.database, "neo4j").of((await house.tenant()).id)
    assert least is not None
    return Neo4jGraphReader(house.mirror).expecting(least)


EMPTY = "MATCH (n) DETACH DELETE n"


async def test_a_wiped_mirror_is_rebuilt_at_the_next_take_over(house: House) -> None:
    await capture_every_kind(house.memory)
    await house.sync()
    before = await house.dump()
    await house.write_cypher(EMPTY)
    result = await house.start_afresh()
    assert result.rebuilt
    assert await house.counts_are_equal()
    assert [item.replace('"gen": 2', '"gen": 1') for item in await house.dump()] == before
    await house.memory.observe("Bob", "works_at", "Acme")
    await house.sync()
    assert await house.counts_are_equal()


async def test_after_a_wipe_the_same_process_makes_all_constraints_again(house: House) -> None:
    await house.memory.observe("Alice", "works_at", "Acme")
    await house.sync()
    names = "SHOW CONSTRAINTS YIELD name RETURN collect(name) AS names"
    before = (await house.cypher(names))[0]["names"]
    gone = {"mirrored_key", "rel_subject_entity_key"}
    assert gone <= set(before)
    await house.write_cypher(EMPTY)  # as if another, empty Neo4j stood there now
    for name in gone:
        await house.write_cypher(f"DROP CONSTRAINT {name}")
    assert (await house.start_afresh()).rebuilt
    assert gone <= set((await house.cypher(names))[0]["names"])


async def test_a_mirror_wiped_under_a_working_worker_is_noticed_and_never_passes_for_whole(house: House) -> None:
    await capture_every_kind(house.memory)
    await house.sync()
    await house.write_cypher(EMPTY)
    await house.memory.observe("Bob", "works_at", "Acme")
    running = asyncio.create_task(house.worker.run())

    async def healed() -> bool:
        return await house.generation() == 2 and await house.counts_are_equal()

    await until(healed)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not (await house.start_afresh()).rebuilt
    assert await house.mirror_is_equal()


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
async def test_a_mirror_of_another_history_is_rebuilt_and_keeps_nothing_of_it(house: House, tampered: str) -> None:
    fact = await house.memory.observe("Alice", "works_at", "Acme")
    await house.sync()
    kept = fact.primary.id
    await house.write_cypher(tampered)
    await house.write_cypher("MATCH (n:Mirrored {id: $id}) SET n.ver = 99, n.name = 'of a lost future'", id=str(kept))
    await house.write_cypher(
        "MATCH (a:Mirrored {id: $id}) CREATE (n:Mirrored:Memory {ten: a.ten, id: 'lost', gen: a.gen, ver: 5})"
        " CREATE (a)-[:LOST {ten: a.ten, id: 'lost too', gen: a.gen, ver: 1, w: 1.0}]->(n)",
        id=str(kept),
    )
    result = await house.start_afresh()
    assert result.rebuilt
    assert await house.counts_are_equal()
    assert (await house.seen_node(kept))[1]["name"] == fact.primary.name
    assert not any("lost" in item for item in await house.dump())
    assert not (await house.start_afresh()).rebuilt


async def test_a_mirror_with_the_property_names_of_an_earlier_version_is_rebuilt_without_an_error(house: House) -> None:
    fact = await house.memory.observe("Alice", "works_at", "Acme")
    await house.sync()
    await house.worker.release()
    await house.write_cypher("MATCH (c:SyncCheckpoint) SET c.tick = c.snapshot REMOVE c.snapshot")
    await house.write_cypher("MATCH (c:SyncCheckpoint {k: 'neo4j:leader'}) SET c.k = 'neo4j:keeper'")
    await house.write_cypher("MATCH (i:MirrorInfo) SET i.parked = i.dead_letters REMOVE i.dead_letters")
    reader = await reader_of(house)
    caller = await house.memory.directory.resolve(house.memory.trust)
    with pytest.raises(MirrorUnavailable, match="being rebuilt"):
        await reader.edges_of(caller, [fact.primary.id], fan_out=10, history=False)

    left = "MATCH (n) WHERE n.tick IS NOT NULL OR n.parked IS NOT NULL OR n.k = 'neo4j:keeper' RETURN n"

    async def rebuilt() -> bool:
        return await house.generation() == 2 and await house.cypher(left) == []

    with capture_logs() as logs:
        running = asyncio.create_task(house.another_worker().run())
        await until(rebuilt)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert [line["event"] for line in logs].count("mirror rebuild started") == 1
    assert not [line for line in logs if line["log_level"] == "error" or line["event"] == "mirror is waiting"]
    assert len(await house.mirror.checkpoints()) == 17
    assert await reader.edges_of(caller, [fact.primary.id], fan_out=10, history=False)
    assert not (await house.start_afresh()).rebuilt
    assert await house.mirror_is_equal()


async def test_a_zombie_of_an_older_generation_is_kept_out(house: House) -> None:
    kept = await capture_every_kind(house.memory)
    await house.sync()
    old = await house.checkpoint()
    late = await house.late_batches()
    for row in late[0].nodes:
        row["upto"], row["p"]["ver"] = 98, 99  # of a future that was rolled back
    await house.delete(kept["entity"].primary.id)  # the rebuild leaves no tombstone of it
    await house.write_cypher("MATCH (c:SyncCheckpoint) SET c.nonce = '00000000-0000-0000-0000-000000000000'")
    assert (await house.start_afresh()).rebuilt
    before, checkpoint = await house.dump(), await house.checkpoint()
    assert checkpoint.generation > old.generation
    with pytest.raises(GenerationChanged):
        await house.write_late(late, old.generation, old)
    assert await house.dump() == before
    assert await house.checkpoint() == checkpoint
    assert not (await house.start_afresh()).rebuilt


async def test_a_zombie_of_the_same_generation_does_not_set_the_checkpoint_back(house: House) -> None:
    await house.memory.observe("Alice", "works_at", "Acme")
    await house.sync()
    old = await house.checkpoint()
    late = await house.late_batches()
    await house.memory.observe("Bob", "works_at", "Acme")
    await house.start_afresh()
    before, checkpoint = await house.dump(), await house.checkpoint()
    assert checkpoint.snapshot > old.snapshot
    await house.write_late(late, old.generation, old)
    assert await house.dump() == before
    assert await house.checkpoint() == checkpoint
    assert not (await house.start_afresh()).rebuilt


@asynccontextmanager
async def poisoned(house: House, name: str) -> AsyncIterator[None]:
    """While the block runs, the mirror refuses any episodic node of this name."""
    await house.write_cypher("CREATE (:Episodic {name: $name, poison: true})", name=name)
    await house.write_cypher("CREATE CONSTRAINT poison FOR (n:Episodic) REQUIRE n.name IS UNIQUE")
    try:
        yield
    finally:
        await house.write_cypher("DROP CONSTRAINT poison")
        await house.write_cypher("MATCH (n:Episodic {poison: true}) DELETE n")


@pytest.mark.parametrize("rebuilding", [True, False], ids=["in a rebuild", "from the feed"])
async def test_a_refused_change_becomes_a_dead_letter_and_is_applied_once_the_cause_is_gone(
    house: House, *, rebuilding: bool
) -> None:
    if not rebuilding:
        await house.sync()
    async with poisoned(house, "user: poison"):
        for number in range(4):
            await house.memory.turn(f"good {number}")
        bad = await house.memory.turn("poison", context={"mentions": ["Alice"]})
        await house.memory.observe("Alice", "works_at", "Acme")
        if rebuilding:
            await house.memory.remember(SourceKind.OBSERVATION, PLAN, proposed_type=MemoryType.PLAN_GRAPH)
        result = await house.sync()
        assert result.rebuilt is rebuilding
        records, relations = await house.source.counts()
        assert await house.mirror.counts() == (records - 1, relations)
        lag = await mirror_feed(house.memory.database).lag()
        assert lag is not None
        assert (lag.changes, lag.dead_letters) == (0, 1)
        assert result.dead_letters == (0 if rebuilding else 1)
        await house.run_sql("UPDATE sync_dead_letter SET next_try = clock_timestamp()")
        await house.sync()
        async with house.memory.database.engine.begin() as connection:
            row = (await connection.execute(text("SELECT id, tries, error FROM sync_dead_letter"))).one()
        assert (row.id, row.tries) == (bad.primary.id, 2)
        assert row.error == "Neo.ClientError.Schema.ConstraintValidationFailed"
    await house.run_sql("UPDATE sync_dead_letter SET next_try = clock_timestamp()")
    await house.sync()
    assert await house.counts_are_equal()
    assert (await house.seen_node(bad.primary.id))[1]["name"] == "user: poison"
    lag = await mirror_feed(house.memory.database).lag()
    assert lag is not None
    assert lag.dead_letters == 0


async def idle(*houses: House) -> None:
    """Everybody works until there is nothing left to do."""
    for house in houses:
        await house.worker.follow_once()
    while not all([(await house.worker.follow_once()).idle for house in houses]):
        pass


async def test_two_workers_share_the_shards_and_one_goes_on_alone_when_the_other_leaves(house: House) -> None:
    await house.sync()
    other = House(house.memory, house.mirror, house.config)
    feed = mirror_feed(house.memory.database)

    async def shared() -> bool:  # at the latest when a third of a lease is over
        await idle(house, other)
        return sorted((await feed.holders()).values()) == [8, 8]

    await until(shared)
    for name in ("Alice", "Bob", "Carol", "Dave"):
        await house.memory.observe(name, "works_at", "Acme")
    applied = [(await one.worker.follow_once()).applied for one in (house, other)]
    assert min(applied) > 0
    assert await house.counts_are_equal()
    await house.worker.release()
    await house.memory.observe("Eve", "works_at", "Acme")
    await other.worker.release()
    assert (await other.sync()).applied > 0
    assert list((await feed.holders()).values()) == [16]
    assert await house.mirror_is_equal()
    assert await house.generation() == 1


async def test_a_worker_that_lost_its_lease_stops_and_does_no_harm(house: House) -> None:
    await house.sync()
    other = House(house.memory, house.mirror, house.config)
    await house.run_sql("UPDATE sync_cursor SET lease_until = '-infinity'")
    await house.memory.observe("Alice", "works_at", "Acme")
    assert (await other.worker.follow_once()).applied > 0
    await house.memory.observe("Bob", "works_at", "Acme")
    await idle(house, other)
    assert await house.counts_are_equal()
    assert not (await house.start_afresh()).rebuilt
    assert await house.mirror_is_equal()


@pytest.fixture
async def guarded(
    memory: Memory, clean_neo4j: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[House, BoltProxy]]:
    monkeypatch.setattr("stratagraph.graph_sync.mirror.WRITE_RETRY_S", 0.2)
    async with (
        BoltProxy(clean_neo4j) as proxy,
        Mirror(proxy.uri, user=None, password=None, database="neo4j") as mirror,
    ):
        yield House(memory, mirror), proxy


async def test_a_mirror_that_cannot_be_reached_is_unavailable_and_nothing_is_lost(
    guarded: tuple[House, BoltProxy],
) -> None:
    house, proxy = guarded
    await house.sync()
    await house.memory.observe("Alice", "works_at", "Acme")
    await proxy.shut()
    with pytest.raises(MirrorUnavailable):
        await house.sync()
    reader = await reader_of(house)
    caller = await house.memory.directory.resolve(house.memory.trust)
    with pytest.raises(MirrorUnavailable):
        await reader.edges_of(caller, [UUID(int=1)], fan_out=1, history=False)
    proxy.open = True
    await house.sync()
    assert await house.counts_are_equal()


async def test_nobody_listening_is_an_outage_too(memory: Memory) -> None:
    async with BoltProxy("bolt://127.0.0.1:1") as proxy:
        uri = proxy.uri
    async with Mirror(uri, user=None, password=None, database="neo4j") as mirror:
        with pytest.raises(MirrorUnavailable):
            await mirror.ping()
        with pytest.raises(MirrorUnavailable):
            await House(memory, mirror).sync()


def said(logs: Sequence[Mapping[str, Any]], task: str) -> list[str]:
    """What one of the worker's two tasks told of the mirror's coming and going."""
    return [line["event"] for line in logs if line.get("task") == task and line["event"].startswith("mirror is")]


async def test_the_worker_survives_an_outage_says_so_once_and_catches_up(guarded: tuple[House, BoltProxy]) -> None:
    house, proxy = guarded
    with capture_logs() as logs:
        running = asyncio.create_task(house.worker.run())
        await until(house.counts_are_equal)
        await proxy.shut()
        await house.memory.observe("Alice", "works_at", "Acme")

        connections = proxy.connections

        async def tried_for_a_while() -> bool:
            return proxy.connections >= connections + 8

        await until(tried_for_a_while)
        assert not running.done()
        proxy.open = True
        async with asyncio.timeout(8):  # below the length of a lease: an outage must not cost one
            await until(house.counts_are_equal)
        await house.memory.observe("Bob", "works_at", "Acme")
        await until(house.counts_are_equal)

        async def said_so() -> bool:
            return all(said(logs, task) == ["mirror is waiting", "mirror is back"] for task in ("follow", "maintain"))

        await until(said_so)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert await house.generation() == 1, "an outage is no reason to read everything afresh"


async def test_the_worker_waits_out_a_neo4j_that_refuses_altogether(house: House, clean_neo4j: str) -> None:
    async with Mirror(clean_neo4j, user=None, password=None, database="nowhere") as elsewhere:
        with capture_logs() as logs:
            running = asyncio.create_task(house.another_worker(elsewhere).run())

            async def waiting() -> bool:
                return running.done() or any(line["event"] == "mirror is waiting" for line in logs)

            await until(waiting)
            assert not running.done(), "with the worker, the API in the same process would end"
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running


async def test_a_read_that_takes_too_long_is_an_outage_for_its_caller(house: House) -> None:
    slow = "UNWIND range(1, 100000000000) AS x WITH x WHERE x < 0 RETURN count(x)"
    with pytest.raises(MirrorUnavailable):
        await house.mirror.read(slow, {}, timeout_s=0.2)
