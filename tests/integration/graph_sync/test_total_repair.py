"""Whatever people change in the mirror by hand, a check names it, and a repair or the running scrub undoes it.

Edits are chosen at random, for every kind of node and relationship that the worker writes. Equality is decided by this
file's own comparison of everything in Neo4j, before the edits and after the repair, not by the project's.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from fix_graphs import create_tenant, random_record, readable_by_all, write_graph
from fix_memory import SPARING_S, until
from fix_mirror import PLAN, MirroredMemory, capture_every_kind
from hypothesis import settings
from neo4j.exceptions import ClientError
from neo4j.spatial import CartesianPoint
from neo4j.time import DateTime

from stratagraph.graph_sync.differences import Difference, Drift, Subject
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.errors import MirrorUnavailable
from stratagraph.store.records.inserting import NewRelation

pytestmark = pytest.mark.neo4j

OWN = ("Mirrored", "Memory", "Past", "PlanStep", "Tool")
STATE = {"SyncCheckpoint", "SyncGeneration", "SyncRebuild", "MirrorInfo", "Tomb", "RelTomb"}
STRUCTURE = ("HAS_STEP", "PRECEDES", "FEEDS", "USES_TOOL", "IS_TOOL")
ODD_VALUES: tuple[Any, ...] = (
    *(0, -1, 1.5, True, "x", "", [], ["a", "b"], 2**62, -(2**63), float("nan"), float("inf")),
    *(CartesianPoint((1.0, 2.0)), DateTime(1999, 1, 1), "00000000-0000-0000-0000-000000000001"),
)


@dataclass(frozen=True)
class Item:
    """A node or, with a type, a relationship."""

    element: int
    properties: dict[str, Any]
    labels: tuple[str, ...] = ()
    type: str = ""
    source: int = -1
    target: int = -1


@dataclass
class Graph:
    """Everything in Neo4j, by internal id."""

    nodes: dict[int, Item]
    relationships: dict[int, Item]

    def owners(self, item: Item) -> set[str]:
        """Return the ids of the records of which a node or relationship shows something."""
        if item.type:
            if item.type in STRUCTURE and "id" not in item.properties:
                return self.owners(self.nodes[item.source])
            return {str(item.properties["id"])} if "id" in item.properties else set()
        if "Tool" in item.labels and "Mirrored" not in item.labels:
            users = [self.nodes[one.source] for one in self.relationships.values() if one.target == item.element]
            return {owner for user in users for owner in self.owners(user)}
        return {str(item.properties["id"])[:36]} if "id" in item.properties else set()


@dataclass
class Edit:
    """One change by hand: its Cypher, which returns the internal ids of what it creates, and whom it concerns."""

    what: str
    cypher: str
    parameters: dict[str, Any] = field(default_factory=dict)
    concerns: set[str] = field(default_factory=set)


def is_soak() -> bool:
    return settings.get_current_profile_name() == "soak"


def edits_wanted() -> int:
    return 1_000 if is_soak() else 20


async def read_graph(mirrored: MirroredMemory) -> Graph:
    nodes = await mirrored.cypher("MATCH (n) RETURN collect([id(n), properties(n), labels(n)]) AS found")
    ties = await mirrored.cypher(
        "MATCH (a)-[r]->(b) RETURN collect([id(r), properties(r), type(r), id(a), id(b)]) AS found"
    )
    return Graph(
        {element: Item(element, shown, tuple(labels)) for element, shown, labels in nodes[0]["found"]},
        {one[0]: Item(one[0], one[1], (), *one[2:]) for one in ties[0]["found"]},
    )


async def read_all(mirrored: MirroredMemory) -> list[str]:
    """Return everything except the worker's state, without internal ids, and the names of constraints and indexes."""
    graph = await read_graph(mirrored)
    kept = {element: node for element, node in graph.nodes.items() if not STATE & set(node.labels)}
    lines: list[Any] = [[sorted(node.labels), _plain(node.properties)] for node in kept.values()]
    for one in graph.relationships.values():
        if one.source in kept and one.target in kept:
            ends = [_plain(kept[end].properties) for end in (one.source, one.target)]
            lines.append([one.type, ends, _plain(one.properties)])
    schema = await mirrored.cypher("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN collect(name) AS names")
    return sorted([json.dumps(line, sort_keys=True) for line in lines] + schema[0]["names"])


def _plain(properties: dict[str, Any]) -> dict[str, str]:
    return {name: f"{type(value).__name__} {value}" for name, value in properties.items()}


def _node_edits(graph: Graph, node: Item, rng: random.Random) -> Edit:
    """Choose one change of a node that the worker wrote."""
    name = rng.choice(sorted(node.properties))
    label = rng.choice(node.labels)
    value = rng.choice([one for one in ODD_VALUES if one != [] and repr(one) != repr(node.properties[name])])
    new = rng.choice([one for one in (*OWN, "Tomb", "Admin", "Person", "PlanGraph") if one not in node.labels])
    match, key = "MATCH (n) WHERE id(n) = $n ", {"n": node.element, "value": value}
    tied = [one for one in graph.relationships.values() if node.element in (one.source, one.target)]
    labels = "".join(f":`{one}`" for one in node.labels)
    return rng.choice(
        [
            Edit("delete", match + "DETACH DELETE n RETURN []", key),
            Edit(
                "cut off",
                match + "MATCH (n)-[r]-() DELETE r RETURN []",
                key,
                {owner for tie in tied for owner in graph.owners(tie)},
            ),
            Edit("add property", match + "SET n.note = $value RETURN []", key),
            Edit(f"change property {name}", match + f"SET n.`{name}` = $value RETURN []", key),
            Edit(f"change property {name}", match + f"SET n.`{name}` = $value RETURN []", key),
            Edit(f"remove property {name}", match + f"REMOVE n.`{name}` RETURN []", key),
            Edit("remove all properties", match + "SET n = {} RETURN []", key),
            Edit(f"add label {new}", match + f"SET n:{new} RETURN []", key),
            Edit(f"remove label {label}", match + f"REMOVE n:`{label}` RETURN []", key),
            Edit("remove all labels", match + f"REMOVE n{labels} SET n.note = 1 RETURN [id(n)]", key),
            Edit(
                "remove all labels, and change the key",
                match + f"REMOVE n{labels} SET n.note = 1, n.ten = $value, n.d = 'x' RETURN [id(n)]",
                key,
            ),
            Edit(
                "copy under another key",
                match + f"CREATE (m{labels}) SET m = properties(n), m.id = 'copy', m.name = 'copy' RETURN [id(m)]",
                key,
            ),
        ]
    )


def _relationship_edits(graph: Graph, tie: Item, rng: random.Random) -> Edit:
    """Choose one change of a relationship that the worker wrote."""
    match, key = "MATCH (a)-[r]->(b) WHERE id(r) = $r ", {"r": tie.element, "value": rng.choice(ODD_VALUES[:5])}
    others = [one.element for one in graph.nodes.values() if set(one.labels) & set(OWN) and one.element != tie.target]
    strangers = [one.element for one in graph.nodes.values() if "Stranger" in one.labels]
    key["other"] = rng.choice(others if rng.random() < 0.7 or not strangers else strangers)
    types = {one.type for one in graph.relationships.values()} | {"KNOWS", "BY_HAND"}
    other_type = rng.choice(sorted(types - {tie.type}))
    to_other = "MATCH (o) WHERE id(o) = $other "
    edits = [
        Edit("delete", match + "DELETE r RETURN []", key),
        Edit("add property", match + "SET r.note = $value RETURN []", key),
        Edit(
            f"retype to {other_type}",
            match + f"CREATE (a)-[x:`{other_type}`]->(b) SET x = properties(r) DELETE r RETURN [id(x)]",
            key,
        ),
        Edit(
            "redirect",
            match + to_other + f"WITH a, r, o, properties(r) AS p DELETE r CREATE (a)-[x:`{tie.type}`]->(o)"
            " SET x = p RETURN [id(x)]",
            key,
        ),
        Edit(
            "turn around",
            match + f"WITH a, b, r, properties(r) AS p DELETE r CREATE (b)-[x:`{tie.type}`]->(a)"
            " SET x = p RETURN [id(x)]",
            key,
        ),
        Edit("duplicate without key", match + f"CREATE (a)-[x:`{tie.type}`]->(b) RETURN [id(x)]", key),
        Edit(
            f"duplicate as {other_type}",
            match + f"CREATE (a)-[x:`{other_type}`]->(b) SET x = properties(r) RETURN [id(x)]",
            key,
        ),
    ]
    if tie.properties:
        name = rng.choice(sorted(tie.properties))
        edits += [
            Edit("strip", match + "SET r = {} RETURN []", key),
            Edit(f"remove property {name}", match + f"REMOVE r.`{name}` RETURN []", key),
            Edit(f"change property {name}", match + f"SET r.`{name}` = $value RETURN []", key),
        ]
    return rng.choice(edits)


def _foreign_edits(graph: Graph, rng: random.Random) -> Edit:
    """Choose something new, by hand, under the mirror's labels or between its nodes."""
    own = [one.element for one in graph.nodes.values() if set(one.labels) & set(OWN)]
    a, b = rng.choice(own), rng.choice(own)
    types = sorted({one.type for one in graph.relationships.values()} | {"KNOWS"})
    label = rng.choice([*OWN, "Memory:Semantic", "Mirrored:Memory", "Mirrored:Tomb", "RelTomb"])
    shown = {name: rng.choice(ODD_VALUES) for name in rng.sample(["ten", "id", "name", "ver", "gen", "dead", "at"], 4)}
    if rng.random() < 0.5:
        shown |= {"ten": rng.choice([1, 77]), "id": "00000000-0000-7000-8000-00000000beef"}
    tomb = {"ten": 77, "id": "00000000-0000-7000-8000-00000000dead", "ver": 1, "gen": 1, "d": 5}
    joined = rng.choice([{}, {"ten": 1, "id": "00000000-0000-7000-8000-00000000cafe", "ver": 1, "gen": 1}, shown])
    return rng.choice(
        [
            Edit(
                "create tombstone",
                "CREATE (n:Mirrored:Tomb) SET n = $tomb, n.dead = true, n.at = datetime() RETURN [id(n)]",
                {"tomb": tomb},
            ),
            Edit(
                "create tombstone of a relation",
                "CREATE (n:RelTomb) SET n = $tomb, n.at = datetime() RETURN [id(n)]",
                {"tomb": tomb},
            ),
            Edit(f"create :{label} {shown}", f"CREATE (n:{label}) SET n = $shown RETURN [id(n)]", {"shown": shown}),
            Edit(
                f"connect {joined}",
                "MATCH (a), (b) WHERE id(a) = $a AND id(b) = $b"
                f" CREATE (a)-[x:`{rng.choice(types)}`]->(b) SET x = $joined RETURN [id(x)]",
                {"a": a, "b": b, "joined": joined},
            ),
        ]
    )


def choose(graph: Graph, rng: random.Random) -> Edit:
    """Choose an edit of any kind, each kind of node and relationship as often as any other."""
    kinds: dict[str, list[Item]] = {}
    for node in graph.nodes.values():
        if set(node.labels) & set(OWN) and "Tomb" not in node.labels:
            kinds.setdefault(":".join(sorted(node.labels)), []).append(node)
    for tie in graph.relationships.values():
        if graph.owners(tie):
            kinds.setdefault(tie.type, []).append(tie)
    kind = rng.choice(sorted(kinds) + ["foreign"] * 3)
    if kind == "foreign":
        return _foreign_edits(graph, rng)
    item = rng.choice(kinds[kind])
    chooser: Callable[[Graph, Item, random.Random], Edit] = _relationship_edits if item.type else _node_edits
    edit = chooser(graph, item, rng)
    return Edit(f"{kind}: {edit.what}", edit.cypher, edit.parameters, graph.owners(item) | edit.concerns)


async def apply(mirrored: MirroredMemory, edit: Edit) -> set[str] | None:
    """Apply an edit and return the names of which a check must give one; None if it changed nothing."""
    try:
        async with mirrored.mirror.driver.session() as session:
            result = await session.run(edit.cypher, edit.parameters)
            rows = [record.value() async for record in result]
            counters = (await result.consume()).counters
    except ClientError:
        return None  # a constraint was in the way
    if not counters.contains_updates:
        return None
    return edit.concerns | {f"#{element}" for row in rows for element in row}


def names(differences: Sequence[Difference]) -> set[str]:
    return {str(one.id) for one in differences} | {f"#{element}" for one in differences for element in one.elements}


async def differences_of(mirrored: MirroredMemory) -> Sequence[Difference]:
    found = await mirrored.worker.checker.verify(deep=True, within_s=10.0)
    assert found.settled
    assert found.complete
    return found.differences


async def repair(mirrored: MirroredMemory) -> None:
    for _ in range(5):
        if not (found := await differences_of(mirrored)):
            return
        await mirrored.repair(found)
    pytest.fail(f"still different after five repairs: {found}")


@pytest.fixture
async def filled(mirrored: MirroredMemory) -> MirroredMemory:
    """A mirror of records of every kind, two plans, a tool that is an entity, tombstones and other people's data."""
    kept = await capture_every_kind(mirrored.memory)
    second = PLAN | {"plan_id": "other", "nodes": [{"id": "a", "op": "build"}, {"id": "b", "op": "grep"}], "edges": []}
    await mirrored.memory.remember(SourceKind.OBSERVATION, second, proposed_type=MemoryType.PLAN_GRAPH)
    entity = {
        "canonical_name": "grep",
        "primary_type": "Tool",
        "identifiers": [{"namespace": "tool", "value": "grep"}],
    }
    await mirrored.memory.remember(SourceKind.OBSERVATION, entity, proposed_type=MemoryType.ENTITY)
    await mirrored.sync()
    await mirrored.delete(kept["turn"].primary.id)
    await mirrored.sync()
    await mirrored.write_cypher(
        "CREATE (a:Stranger {id: 5, name: 'by hand'})-[:LIKES]->(b:Stranger:Semantic {name: 'also by hand'})"
        " WITH a MATCH (n:Memory:Entity) WITH a, n LIMIT 1 CREATE (a)-[:LIKES]->(n)"
    )
    assert not await differences_of(mirrored), "other people's data is no difference"
    return mirrored


async def test_a_check_names_every_edit_and_a_repair_undoes_it(filled: MirroredMemory) -> None:
    rng = random.Random(13)
    before = await read_all(filled)
    done = 0
    for number in range(edits_wanted() * 4):
        edits: list[Edit] = []
        wanted: list[set[str]] = []
        for _ in range(rng.randint(1, 4)):
            edit = choose(await read_graph(filled), rng)
            concerned = await apply(filled, edit)
            if concerned is not None:
                edits.append(edit)
                wanted.append(concerned)
                done += 1
        if not edits:
            continue
        found = await differences_of(filled)
        named = names(found)
        for edit, concerned in zip(edits, wanted, strict=True):
            assert len(edits) > 1 or named & concerned, (number, edit, found)
        assert found or await read_all(filled) == before, (number, edits)  # one edit may undo another
        await repair(filled)
        after = await read_all(filled)
        lost, more = sorted(set(before) - set(after)), sorted(set(after) - set(before))
        strangers = [line for line in lost if "LIKES" in line]  # of a node that an edit deleted
        assert lost == strangers, (number, edits, lost, more)
        assert not more, (number, edits, more)
        before = after
        if done >= edits_wanted():
            return


async def test_constraints_that_were_dropped_and_the_duplicates_written_without_them(filled: MirroredMemory) -> None:
    before = await read_all(filled)
    constraints = await filled.cypher(
        "SHOW INDEXES YIELD name, type, owningConstraint, labelsOrTypes, entityType WHERE type <> 'LOOKUP' RETURN *"
    )
    seldom = {"generation_key", "rebuild_key", "checkpoint_key", "mirror_info_key", "rel_tomb_key"}  # hold few nodes
    ties = [row for row in constraints if row["entityType"] == "RELATIONSHIP"]
    tied = {row["name"] for row in ties if any(line.startswith(f'["{row["labelsOrTypes"][0]}"') for line in before)}
    chosen = {"mirrored_key", "plan_step_key", "tool_key", "memory_name", min(tied)}
    for row in constraints:
        if row["name"] in seldom or not (row["name"] in chosen or is_soak()):
            continue
        owned, token = row["owningConstraint"] is not None, row["labelsOrTypes"][0]
        is_tie = row["entityType"] == "RELATIONSHIP"
        if is_tie and row["name"] not in tied:
            continue  # no relationship has this type now
        await filled.write_cypher(f"DROP {'CONSTRAINT' if owned else 'INDEX'} `{row['name']}`")
        if owned:
            await filled.write_cypher(
                f"MATCH (a)-[r:`{token}`]->(b) WITH a, b, r LIMIT 1 CREATE (a)-[x:`{token}`]->(b) SET x = properties(r)"
                if is_tie
                else f"MATCH (n:`{token}`) WITH n LIMIT 1 CREATE (x:`{token}`) SET x = properties(n)"
            )
        found = await differences_of(filled)
        assert row["name"] in {one.detail for one in found if one.drift is Drift.MISSING}, row["name"]
        await repair(filled)
        assert await read_all(filled) == before, row["name"]


async def test_indexes_and_constraints_that_were_dropped_and_replaced_by_others(filled: MirroredMemory) -> None:
    lookups = await filled.cypher("SHOW INDEXES YIELD name, type WHERE type = 'LOOKUP' RETURN collect(name) AS names")
    replaced = {
        "mirrored_key": "CREATE CONSTRAINT mirrored_key FOR (n:Stranger) REQUIRE n.a IS UNIQUE",
        "tool_key": "CREATE INDEX by_hand FOR (t:Tool) ON (t.ten, t.name)",
        "plan_step_key": "CREATE INDEX plan_step_key FOR (n:Stranger) ON (n.b)",
        "mirror_info_key": "CREATE CONSTRAINT another FOR (i:MirrorInfo) REQUIRE i.name IS UNIQUE",
        "memory_name": "CREATE CONSTRAINT memory_name FOR (n:Stranger) REQUIRE n.c IS UNIQUE",
        "failed_call": "CREATE CONSTRAINT failed_call FOR (c:ToolCall) REQUIRE (c.ten, c.id) IS UNIQUE",
        "entity_tool": "CREATE INDEX entity_tool FOR (n:Stranger) ON (n.d)",
        **dict.fromkeys(lookups[0]["names"], ""),
    }
    for name, other in replaced.items():
        await filled.write_cypher(f"DROP {'CONSTRAINT' if name.endswith('_key') else 'INDEX'} `{name}`")
        if other:
            await filled.write_cypher(other)
    found = {one.detail for one in await differences_of(filled)}
    ours = {name for name in replaced if "_" in name and not name.startswith("index_")}
    assert found == ours | {"another", "failed_call", "labels_lookup", "types_lookup"}
    await repair(filled)
    kept = (
        await filled.cypher("SHOW CONSTRAINTS YIELD name, labelsOrTypes RETURN collect([name, labelsOrTypes]) AS all")
    )[0]["all"]
    assert {name for name, tokens in kept if tokens == ["Stranger"]} == {"mirrored_key", "memory_name"}
    for name in ("mirrored_key", "memory_name"):
        await filled.write_cypher(f"DROP CONSTRAINT {name}")


STATE_EDITS = (
    *("MATCH (c:SyncCheckpoint {k: 'neo4j:leader'}) DETACH DELETE c", "MATCH (c:SyncCheckpoint) DETACH DELETE c"),
    *("MATCH (c:SyncCheckpoint {k: 'neo4j:3'}) SET c.gen = 'x'", "MATCH (c:SyncCheckpoint {k: 'neo4j:3'}) REMOVE c.k"),
    *("MATCH (c:SyncCheckpoint {k: 'neo4j:leader'}) SET c.gen = 0", "MATCH (c:SyncCheckpoint) SET c.mapping = -1"),
    "MATCH (c:SyncCheckpoint {k: 'neo4j:3'}) SET c.snapshot = c.snapshot + 1000",
    "MATCH (c:SyncCheckpoint {k: 'neo4j:3'}) SET c:Memory:Admin, c.note = 'x'",
    "MATCH (c:SyncCheckpoint {k: 'neo4j:3'}) SET c:Mirrored, c.ten = 1, c.id = 'x'",
    "CREATE (:SyncCheckpoint {k: 'copy'})",
    "MATCH (c:SyncCheckpoint {k: 'neo4j:3'}), (n:PlanStep) WITH c, n LIMIT 1 CREATE (c)-[:KNOWS {ten: 1}]->(n)",
    *("MATCH (i:MirrorInfo) CREATE (:MirrorInfo {k: 'copy', name: i.name})", "MATCH (i:MirrorInfo) SET i:Past:Admin"),
    *("MATCH (i:MirrorInfo) SET i.k = 5", "MATCH (i:MirrorInfo) SET i.k = 'copy', i:Memory"),
    *("CREATE (:SyncRebuild {gen: 7})", "CREATE (:SyncRebuild {gen: 7, kind: 2, done: 5})"),
    *("CREATE (:SyncRebuild {gen: 'x'})", "CREATE (:SyncRebuild {gen: 1, note: 'x'})"),
    *("CREATE (:SyncGeneration {ten: 1, gen: 99})", "CREATE (:SyncGeneration {ten: 77, gen: 1})"),
    *("CREATE (:SyncGeneration {ten: 'x', gen: 1})", "CREATE (:SyncGeneration:Tool {ten: 1, gen: 1, name: 'x'})"),
)


async def test_edits_of_the_workers_own_state_are_named_and_undone(filled: MirroredMemory) -> None:
    chosen = STATE_EDITS if is_soak() else random.Random(5).sample(STATE_EDITS, 5)
    shown = (
        "MATCH (n:SyncCheckpoint|SyncGeneration|SyncRebuild|MirrorInfo)"
        " WITH labels(n) AS labels, [key IN keys(n) WHERE key <> 'seq'] AS keys, COUNT { (n)--() } AS ties"
        " RETURN collect([labels, COLLECT { UNWIND keys AS key RETURN key ORDER BY key }, ties]) AS found"
    )
    before = sorted((await filled.cypher(shown))[0]["found"])
    for number, edited in enumerate(chosen):
        await filled.write_cypher(edited)
        assert await differences_of(filled), edited
        await repair(filled)
        await filled.memory.observe(f"Person {number}", "works_at", "Acme")
        await filled.sync()
        assert not await differences_of(filled), edited
        assert sorted((await filled.cypher(shown))[0]["found"]) == before, edited


async def test_edits_during_a_rebuild_are_undone(filled: MirroredMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stratagraph.graph_sync.rebuilding.PAGE", 5)
    rng = random.Random(11)
    before = without_generation(await read_all(filled))
    to_the_end = "MATCH (s:SyncRebuild) SET s.kind = 2, s.ten = NULL, s.id = NULL RETURN []"

    async def edit(done: int) -> None:
        await apply(filled, choose(await read_graph(filled), rng))
        if done > 20:
            await apply(filled, Edit("skip the rest of the rebuild", to_the_end))
            raise MirrorUnavailable("as if the worker were stopped here")

    await filled.worker.maintenance.begin_rebuild(None, reason="a test")
    with pytest.raises(MirrorUnavailable):
        await filled.worker.maintenance.run_once(on_page=edit)
    assert (await filled.sync()).rebuilt
    await repair(filled)
    after = without_generation(await read_all(filled))
    assert [line for line in after if "LIKES" not in line] == [line for line in before if "LIKES" not in line]


def without_generation(lines: Sequence[str]) -> list[str]:
    return sorted(re.sub(r'"gen": "int \d+"', "", line) for line in lines)


@pytest.mark.soak
async def test_a_hub_of_which_everything_was_edited_is_repaired(mirrored: MirroredMemory) -> None:
    """Neither the time nor the memory of one transaction grows with the square of the hub's relationships."""
    memory, rng = mirrored.memory, random.Random(3)
    tenant = await create_tenant(memory, "acme")
    records = [readable_by_all(random_record(rng, tenant, type_=MemoryType.ENTITY)) for _ in range(4_001)]
    hub, *others = [record.id for record in records]
    relations = [
        NewRelation(source=source, target=target, predicate="uses", weight=0.5)
        for other in others
        for source, target in ((hub, other), (other, hub))
    ] + [NewRelation(source=hub, target=other, predicate="reviews", weight=0.5) for other in others]
    await write_graph(memory, tenant, records, relations)
    await mirrored.sync()
    before = await read_all(mirrored)
    assert len(relations) == 12_000
    for edited in (
        "MATCH (n {id: $hub})-[r:USES]->() SET r.w = 7.0",
        "MATCH (n {id: $hub})-[r]-() DELETE r",
        "MATCH (n {id: $hub}) DETACH DELETE n",
        "MATCH (n {id: $hub})-[r]-(m) CREATE (n)-[:USES]->(m)",
        "MATCH (n {id: $hub})-[r:USES]->(m) WITH n, r, m, properties(r) AS p DELETE r"
        " CREATE (m)-[x:USES]->(n) SET x = p",
        "MATCH (n {id: $hub}) SET n.id = 'x'",
        "CREATE (h:Memory {name: 'by hand'}) WITH h MATCH (m:Mirrored) CREATE (h)-[:USES]->(m), (h)<-[:KNOWS]-(m)",
    ):
        await mirrored.write_cypher(edited, hub=str(hub))
        began = time.monotonic()
        await repair(mirrored)
        assert time.monotonic() - began < 120, edited
        assert await read_all(mirrored) == before, edited


async def test_a_constraint_made_by_hand_is_named_and_dropped_and_what_it_refused_is_written(
    filled: MirroredMemory,
) -> None:
    before = await read_all(filled)
    await filled.write_cypher("CREATE CONSTRAINT `a ``vandal` FOR (n:Semantic) REQUIRE n.seldom IS UNIQUE")
    await filled.write_cypher("CREATE CONSTRAINT mine FOR (n:Stranger) REQUIRE n.name IS UNIQUE")
    found = await differences_of(filled)
    assert [(one.drift, one.detail) for one in found] == [(Drift.FOREIGN, "a `vandal")]
    await repair(filled)
    after = await read_all(filled)
    assert {line for line in after if line not in before} == {line for line in after if "mine" in line}
    await filled.write_cypher("DROP CONSTRAINT mine")


@pytest.mark.parametrize("key", ["t.name = 5", "t.name = ['a']", "t.name = NULL", "t.ten = 'x'", "t.ten = NULL"])
async def test_an_edited_tool_does_not_stop_the_worker(filled: MirroredMemory, key: str) -> None:
    before = await read_all(filled)
    await filled.write_cypher(f"MATCH (t:Tool)<-[:USES_TOOL]-(:Memory) WITH t ORDER BY t.name LIMIT 1 SET {key}")
    callers = [one for one in await differences_of(filled) if one.subject is Subject.RECORD]
    assert callers
    await filled.repair(callers)  # written again while the tool still has the odd key
    await repair(filled)
    assert await read_all(filled) == before


async def test_the_running_scrub_undoes_edits(filled: MirroredMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stratagraph.graph_sync.maintenance.ROUND_S", 0.0)
    rng = random.Random(7)
    before = [line for line in await read_all(filled) if "LIKES" not in line]
    for _ in range(6):
        await apply(filled, choose(await read_graph(filled), rng))
    await filled.worker.release()
    running = asyncio.create_task(filled.another_worker().run())
    try:

        async def is_repaired() -> bool:
            return [line for line in await read_all(filled) if "LIKES" not in line] == before

        await until(is_repaired, within_s=60, every_s=SPARING_S)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_edits_of_properties_leave_other_peoples_relationships_to_a_record(filled: MirroredMemory) -> None:
    before = await read_all(filled)
    await filled.write_cypher(
        "MATCH (:Stranger)-[:LIKES]->(n:Memory) SET n.name = 'x', n.gen = 'y', n:Admin REMOVE n.ver"
    )
    await repair(filled)
    assert await read_all(filled) == before
