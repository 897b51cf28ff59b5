"""One node for each tool that is called or used by a plan's steps, and labels for the kinds of events."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any
from uuid import UUID

import pytest
from fix_mirror import MirroredMemory

from stratagraph.graph_sync import mapping
from stratagraph.graph_sync.mapping import event_label
from stratagraph.graph_sync.worker import SyncConfig
from stratagraph.memory.capture.answers import Captured
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind

pytestmark = pytest.mark.neo4j

# From a call that failed to the plans whose steps use the same tool.
WALK = """MATCH (call:ToolCall {failed: true})-[:USES_TOOL]->(tool:Tool),
  (tool)<-[:USES_TOOL]-(:PlanStep)<-[:HAS_STEP]-(plan:Memory)
WITH call, tool, plan.name AS plan ORDER BY plan
RETURN call.id AS call, tool.name AS tool, collect(DISTINCT plan) AS plans ORDER BY tool"""
TOOLS = "MATCH (t:Tool) RETURN collect(t.name) AS names, collect(properties(t)) AS shown"
USERS = """MATCH (t:Tool)<-[r:USES_TOOL]-(u)
RETURN t.name AS tool, CASE WHEN u:PlanStep THEN split(u.id, '/')[0] ELSE u.id END AS user, count(r) AS times"""
ENTITIES = "MATCH (t:Tool)<-[:IS_TOOL]-(e:Entity) RETURN t.name AS tool, collect(e.id) AS ids"


async def call(mirrored: MirroredMemory, tool: str, **more: Any) -> Captured:
    content = {"tool_name": tool, "args": {}, **({"error": True} if more.pop("error", False) else {})}
    return await mirrored.memory.remember(SourceKind.TOOL_OUTPUT, content, **more)


async def plan(mirrored: MirroredMemory, name: str, *tools: str, **more: Any) -> Captured:
    """Capture a plan with one step per tool; a tool of several words is given as `params.tool`."""
    nodes = [
        {"id": f"s{at}", "op": f"step {at}", "params": {"tool": tool}} if " " in tool else {"id": f"s{at}", "op": tool}
        for at, tool in enumerate(tools)
    ]
    payload = {"plan_id": name, "version": "1", "nodes": nodes, "edges": []}
    return await mirrored.memory.remember(SourceKind.OBSERVATION, payload, proposed_type=MemoryType.PLAN_GRAPH, **more)


async def tools(mirrored: MirroredMemory) -> set[str]:
    (row,) = await mirrored.cypher(TOOLS)
    assert len(row["names"]) == len(set(row["names"]))
    assert all(shown.keys() == {"ten", "name"} for shown in row["shown"])
    return set(row["names"])


async def test_one_walk_leads_from_the_tool_that_failed_to_the_plans_that_use_it(mirrored: MirroredMemory) -> None:
    await plan(mirrored, "release", "build", "test", "ship it")
    await plan(mirrored, "nightly", "test")
    await call(mirrored, "build")
    failed = await call(mirrored, "test", error=True)
    other = await call(mirrored, "ship it", error=True)
    await mirrored.sync()
    assert await mirrored.cypher(WALK) == [
        {"call": str(other.primary.id), "tool": "ship it", "plans": ["Plan: release"]},
        {"call": str(failed.primary.id), "tool": "test", "plans": ["Plan: nightly", "Plan: release"]},
    ]
    (entities,) = [row for row in await mirrored.cypher(ENTITIES) if row["tool"] == "test"]
    (entity,) = entities["ids"]
    assert (await mirrored.existing_node(UUID(entity)))[1]["name"] == "test"


async def test_a_tool_is_deleted_with_its_last_user_and_linked_to_its_entities_when_it_is_used_again(
    mirrored: MirroredMemory,
) -> None:
    calls = [(await call(mirrored, "grep", scope=scope)).primary.id for scope in ("a", "b")]
    used = (await plan(mirrored, "search", "grep")).primary.id
    await mirrored.sync()
    (linked,) = await mirrored.cypher(ENTITIES)
    assert len(linked["ids"]) == 3, "each scope, and no scope, has an entity of its own"
    for id_ in calls:
        await mirrored.delete(id_)
        await mirrored.sync()
        assert await tools(mirrored) == {"grep"}
    changed = {
        "kind": "plan_graph",
        "plan_id": "search",
        "version": "2",
        "nodes": [{"id": "a", "op": "rg"}],
        "edges": [],
    }
    await mirrored.rewrite(used, "payload = CAST(:payload AS jsonb)", payload=json.dumps(changed))
    await mirrored.sync()
    assert await tools(mirrored) == {"rg"}
    assert await mirrored.cypher(ENTITIES) == []
    await call(mirrored, "grep")
    await mirrored.sync()
    assert await tools(mirrored) == {"grep", "rg"}
    (linked,) = await mirrored.cypher(ENTITIES)
    assert (linked["tool"], len(linked["ids"])) == ("grep", 3)
    assert await mirrored.mirror_is_equal()


async def test_a_record_is_deleted_although_somebody_edited_its_tool(mirrored: MirroredMemory) -> None:
    for number, edit in enumerate(("t.name = ['a']", "t.name = 5", "t.ten = 'x'", "t.ten = [1]")):
        called = (await call(mirrored, f"tool {number}")).primary.id
        await mirrored.sync()
        await mirrored.write_cypher(f"MATCH (t:Tool)<-[:USES_TOOL]-({{id: $id}}) SET {edit}", id=str(called))
        await mirrored.delete(called)
        assert (await mirrored.sync()).dead_letters == 0
        labels, _ = await mirrored.existing_node(called)
        assert labels == {"Mirrored", "Tomb"}


async def test_tools_are_named_only_where_a_user_is_at_the_mirrored_level(mirrored: MirroredMemory) -> None:
    await call(mirrored, "sealed_tool", sensitivity=Sensitivity.MEDIUM)
    await plan(mirrored, "secret", "sealed_step", sensitivity=Sensitivity.MEDIUM)
    shared = (await call(mirrored, "both")).primary.id
    await call(mirrored, "both", sensitivity=Sensitivity.MEDIUM)
    await mirrored.sync()
    assert await tools(mirrored) == {"both"}
    assert len(await mirrored.cypher(USERS)) == 1
    assert not [item for item in await mirrored.dump() if "sealed" in item]
    await mirrored.rewrite(shared, "sensitivity = 2")
    await mirrored.sync()
    assert await tools(mirrored) == set()
    assert not [item for item in await mirrored.dump() if '"both"' in item and '"entity"' not in item]


async def test_a_relation_that_a_caller_names_like_a_step_s_is_left_alone(mirrored: MirroredMemory) -> None:
    first = (await call(mirrored, "grep")).primary.id
    references = [{"ref": str(first), "predicate": "uses_tool"}]
    second = (await call(mirrored, "grep", context={"references": references})).primary.id
    await mirrored.sync()
    await mirrored.rewrite(second, "tags = '{}'")
    await mirrored.sync()
    (row,) = await mirrored.cypher("MATCH (a)-[r:USES_TOOL]->(b:Memory) RETURN a.id AS a, b.id AS b, r.id AS id")
    assert (row["a"], row["b"]) == (str(second), str(first))
    assert await mirrored.mirror_is_equal()


KINDS: tuple[tuple[SourceKind, dict[str, Any], str], ...] = (
    (SourceKind.AGENT_TURN, {"role": "user", "text": "hello"}, "Turn"),
    (SourceKind.TOOL_OUTPUT, {"tool_name": "grep"}, "ToolCall"),
    (SourceKind.TOOL_OUTPUT, {"tool_name": "grep", "error": "no such file"}, "ToolCall"),
    (SourceKind.EVENT, {"event_kind": "commit", "ref": "abc"}, "Commit"),
    (SourceKind.EVENT, {"event_kind": "alarm", "ref": "abc"}, "Event"),
    (
        SourceKind.EPISODE,
        {"timeline": [{"t": "2026-05-01T10:00:00Z", "event_kind": "start", "ref": "x"}], "outcome": "success"},
        "Episode",
    ),
    (
        SourceKind.EPISODE,
        {"timeline": [{"t": f"2026-05-01T1{hour}:00:00Z", "event_kind": "x", "ref": "x"} for hour in (0, 1)]},
        "Episode",
    ),
    (SourceKind.EPISODE, {"tool_graph": [{"id": "1", "tool": "grep"}, {"id": "2", "tool": "sed"}]}, "Episode"),
)


async def test_an_episodic_record_is_labelled_by_what_it_is(mirrored: MirroredMemory) -> None:
    kept = [(await mirrored.memory.remember(kind, content)).primary.id for kind, content, _ in KINDS]
    await mirrored.sync()
    for id_, (_, content, label) in zip(kept, KINDS, strict=True):
        labels, shown = await mirrored.existing_node(id_)
        assert labels == {"Mirrored", "Memory", "Episodic", label}
        assert shown.get("failed") is (True if "error" in content else None)


async def test_a_thread_s_episode_is_an_episode_and_an_entity_s_type_is_no_kind_of_event(
    mirrored: MirroredMemory,
) -> None:
    await mirrored.memory.turn("hello", thread="t1")
    entity = {"canonical_name": "Launch", "primary_type": "Event", "types": ["Commit", "Milestone"]}
    kept = await mirrored.memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)
    await mirrored.sync()
    labels, _ = await mirrored.existing_node(kept.primary.id)
    assert labels == {"Mirrored", "Memory", "Entity", "Milestone"}
    (episode,) = await mirrored.cypher("MATCH (e:Episode:Episodic)<-[:PART_OF]-(t:Turn) RETURN e.id AS id")
    assert episode["id"]
    assert await mirrored.cypher("MATCH (e:Episodic&!(Turn|ToolCall|Event|Commit|Episode)) RETURN e.id AS id") == []


def test_an_event_with_an_outcome_is_an_episode_unless_its_kind_has_a_label() -> None:
    assert event_label({"event_kinds": ["commit"], "outcome": "success"}) == "Commit"
    assert event_label({"event_kinds": [], "outcome": None}) == "Episode"


async def test_a_mirror_written_by_another_version_is_rebuilt(
    mirrored: MirroredMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await call(mirrored, "grep")
    await mirrored.sync()
    before, generation = await mirrored.dump(), await mirrored.generation()
    assert not (await mirrored.start_afresh()).rebuilt
    await mirrored.write_cypher("MATCH (t:Tool) DETACH DELETE t")
    await mirrored.write_cypher("MATCH (c:SyncCheckpoint) SET c.mapping = $version", version=mapping.VERSION - 1)
    assert (await mirrored.start_afresh()).rebuilt
    assert await mirrored.generation() == generation + 1
    assert [json.loads(item) | {"p": None} for item in await mirrored.dump()] == [
        json.loads(item) | {"p": None} for item in before
    ]
    assert await tools(mirrored) == {"grep"}
    assert await mirrored.mirror_is_equal()


async def expected(mirrored: MirroredMemory) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Return the pairs (tool, user) and (tool, entity), read from the payloads in Postgres."""
    users, entities = set(), set()
    async with mirrored.memory.database.engine.begin() as connection:
        rows = (await connection.exec_driver_sql("SELECT id, type, payload, sensitivity, state FROM record")).all()
    for row in rows:
        if row.sensitivity > mirrored.config.names_up_to:
            continue
        used = [node["tool"] for node in row.payload.get("tool_graph") or ()]
        if row.type == MemoryType.PLAN_GRAPH:
            used += [(node.get("params") or {}).get("tool") or node["op"] for node in row.payload["nodes"]]
        users |= {(tool, str(row.id)) for tool in used}
        if row.state in (1, 2):
            entities |= {
                (one["value"], str(row.id))
                for one in row.payload.get("identifiers") or ()
                if one["namespace"] == "tool"
            }
    return users, {(tool, id_) for tool, id_ in entities if tool in {tool for tool, _ in users}}


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 12))])
async def test_whatever_is_written_and_removed_each_tool_has_its_users_and_entities(
    mirrored: MirroredMemory, seed: int
) -> None:
    rng = random.Random(seed)
    names = ["grep", "sed", "deploy canary", "test"]
    workers = [mirrored.worker, mirrored.another_worker()]
    kept: list[UUID] = []
    await mirrored.sync()
    for _ in range(4):
        for _ in range(6):
            match rng.choice(["call", "call", "plan", "delete", "level", "tags"]):
                case "call":
                    scope, level = rng.choice(["", "a"]), rng.choice([Sensitivity.LOW, Sensitivity.MEDIUM])
                    made = await call(mirrored, rng.choice(names), scope=scope or None, sensitivity=level)
                    kept.append(made.primary.id)
                case "plan":
                    chosen = rng.choices(names, k=rng.randint(1, 4))
                    kept.append((await plan(mirrored, f"p{rng.random()}", *chosen)).primary.id)
                case "delete" if kept:
                    await mirrored.delete(kept.pop(rng.randrange(len(kept))))
                case "level" if kept:
                    await mirrored.rewrite(rng.choice(kept), "sensitivity = 3 - sensitivity")
                case "tags" if kept:
                    await mirrored.rewrite(rng.choice(kept), "tags = '{x}'")
        await asyncio.gather(*(worker.follow_once() for worker in workers))
        await asyncio.gather(*(worker.follow_once() for worker in workers))
        users, entities = await expected(mirrored)
        assert {(row["tool"], row["user"]) for row in await mirrored.cypher(USERS)} == users
        assert {(row["tool"], id_) for row in await mirrored.cypher(ENTITIES) for id_ in row["ids"]} == entities
        assert await tools(mirrored) == {tool for tool, _ in users}
    for worker in workers:
        await worker.release()
    assert await mirrored.mirror_is_equal()


async def test_a_mirror_with_another_limit_for_names_has_other_tools(mirrored: MirroredMemory) -> None:
    await call(mirrored, "grep")
    await call(mirrored, "sed", sensitivity=Sensitivity.MEDIUM)
    await mirrored.sync()
    assert await tools(mirrored) == {"grep"}
    await mirrored.worker.release()
    wider = MirroredMemory(mirrored.memory, mirrored.mirror, SyncConfig(names_up_to=Sensitivity.MEDIUM))
    found = await wider.worker.checker.verify(deep=True, within_s=5.0)
    await wider.worker.repairer.repair(found.differences)
    await wider.sync()
    assert await tools(wider) == {"grep", "sed"}
    assert await wider.mirror_is_equal()
