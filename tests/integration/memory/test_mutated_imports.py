"""Lines of an export that were changed at any place: what an import stores of them can be read."""

from __future__ import annotations

import hashlib
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import graphql as core
import orjson
import pytest
from exported_store import fill
from fix_api import services_of
from fix_memory import Memory
from fix_transfer import Transfer, sealed_file

from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.transfer.exports import ExportForm, ExportRequest, Exports
from stratagraph.store.audit.verification import verify_chains
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import EndLine, line_bytes

SCHEMA = build_schema()
SEED = 32
MUTANTS = 250  # in `make test`; `make soak` imports all
FILE = 1_500  # mutants in one file
DEPTH = 3  # of the fields that are asked of each record
DROPPED, RENAMED = object(), object()
VALUES: list[Any] = [
    DROPPED,
    RENAMED,
    None,
    True,
    "",
    " ",
    -1,
    0,
    1.5,
    2**63,
    10**30,
    -(10**18),
    1e308,
    "\x00",
    "x\x1f\ny",
    "x" * 3_000,
    [],
    {},
    [None],
    [1],
    {"a": 1},
    ["a"] * 3,
    [[[[[[]]]]]],
    "2026-13-45T00:00:00Z",
    "2026-01-28",
    "2026-01-28T09:30",
    "2026-01-28_09:30:00z",
    "9999-12-31T23:59:59.999999Z",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+14:00",
    "infinity",
    "00000000-0000-0000-0000-000000000000",
    "ambiguous",
    "global",
]
Place = tuple[str | int, ...]
Mutation = tuple[dict[str, Any], Place, Any]


def _places(value: Any, path: Place = ()) -> Iterator[Place]:
    """Yield the places of a line: those within the first item of a list stand for the others."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from _places(item, (*path, key))


def _mutations(lines: Sequence[dict[str, Any]]) -> list[Mutation]:
    """Return the mutations of lines: each place that lines of a kind and type have, with each value."""
    found: list[Mutation] = []
    seen: set[tuple[Any, ...]] = set()
    for line in lines:
        for path in _places(line):
            key = (line["kind"], line.get("type"), path)
            if path != ("kind",) and key not in seen:
                seen.add(key)
                found += [(line, path, value) for value in VALUES]
    return found


def _applied(mutation: Mutation, number: int) -> dict[str, Any]:
    """Return a copy of the line, with an id and a scope of its own, that is changed at the place."""
    line, path, value = mutation
    text = orjson.dumps(line)
    if "id" in line:
        text = text.replace(
            line["id"].encode(), str(UUID(int=(0x01B0 << 112) | (7 << 76) | (2 << 62) | number)).encode()
        )
    made: dict[str, Any] = orjson.loads(text)
    if line["kind"] == "record":
        made["scope"] = f"{made.get('scope', '')}#{number}"
    place: Any = made
    for step in path[:-1]:
        place = place[step]
    last = path[-1]
    if value is DROPPED or (value is RENAMED and isinstance(place, list)):
        del place[last]
    elif value is RENAMED:
        place[f"{last}_x"] = place.pop(last)
    else:
        place[last] = value
    return made


def _dumped(line: dict[str, Any]) -> bytes:
    def plain(value: Any) -> Any:  # orjson writes no integer above 64 bits
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return orjson.Fragment(str(value)) if isinstance(value, int) and abs(value) >= 2**63 else value

    return orjson.dumps(plain(line), option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def _selection(kind: Any, member: str, depth: int) -> str:
    """Return all fields of a type that need no argument, as far as `depth`; of a union, those of one member."""
    named = core.get_named_type(kind)
    if isinstance(named, core.GraphQLUnionType):
        own = next(one for one in named.types if one.name == member)
        return f"__typename ... on {member} {{ {_selection(own, member, depth)} }}"
    fields = []
    for name, field in named.fields.items():
        inner = core.get_named_type(field.type)
        if any(core.is_required_argument(one) for one in field.args.values()):
            continue
        if core.is_leaf_type(inner):
            fields.append(name)
        elif depth > 1 and (selected := _selection(inner, member, depth - 1)):
            fields.append(f"{name} {{ {selected} }}")
    return " ".join(fields)


def _query(member: str) -> str:
    fields = _selection(SCHEMA._schema.type_map["MemoryRecord"], member, DEPTH)
    return f"query($id: ID!, $asOf: DateTime) {{ record(id: $id, asOf: $asOf) {{ {fields} }} }}"


QUERIES = {
    MemoryType.EPISODIC: _query("Episode"),
    MemoryType.WORKING: _query("WorkingState"),
    MemoryType.ENTITY: _query("Entity"),
    MemoryType.SEMANTIC: _query("Fact"),
    MemoryType.COMPETENCE: _query("Competence"),
    MemoryType.PLAN_GRAPH: _query("Plan"),
}


class Mutants:
    """Imports mutated lines into a store that has the lines as they were, and reads what it has stored of them."""

    def __init__(self, memory: Memory, transfer: Transfer, header: bytes) -> None:
        self.memory, self.transfer, self.header = memory, transfer, header
        self.stored: dict[UUID, Mutation] = {}
        self.faults: list[str] = []

    async def add(self, mutations: Sequence[Mutation], first: int) -> None:
        lines = [_applied(mutation, first + number) for number, mutation in enumerate(mutations)]
        order = ("predicate", "artifact", "artifact_part", "record", "record_part", "relation", "tombstone")
        numbered = sorted(enumerate(lines), key=lambda one: order.index(one[1]["kind"]))
        body = [self.header, *(_dumped(line) for _, line in numbered)]
        report = await self.transfer.imported(self.memory, self.transfer.file(sealed_file(body)))
        assert all(one.reason.strip() and one.line > 1 for one in report.refused)
        known = {row["id"] for row in await self.memory.rows("SELECT id FROM record")}
        for number, line in enumerate(lines):
            try:
                id_ = UUID(line["id"])
            except (KeyError, TypeError, ValueError, AttributeError):
                continue
            if line["kind"] == "record" and id_ in known:
                self.stored[id_] = mutations[number]

    async def read(self) -> None:
        """Read each record that was stored, now and as of its beginning, all fields of it."""
        services = services_of(self.memory)
        rows = await self.memory.rows("SELECT id, type, created_at FROM record")
        for row in rows:
            for as_of in (None, row["created_at"]):
                context = Context(self.memory.trust, services)
                variables = {"id": str(row["id"]), "asOf": None if as_of is None else as_of.isoformat()}
                result = await SCHEMA.execute(QUERIES[row["type"]], variable_values=variables, context_value=context)
                if result.errors or result.data is None:
                    self.faults.append(f"{self._named(row['id'])}: {result.errors}"[:400])

    async def use(self, dice: random.Random) -> None:
        """Export, retrieve and verify."""
        exports = Exports(
            self.memory.database, self.memory.directory, self.memory.clock, self.transfer.artifacts(self.memory)
        )
        low = replace(self.memory.trust, ceiling=Sensitivity.MEDIUM)
        for trust, form in (
            (self.memory.trust, ExportForm.NATIVE),
            *((one, ExportForm.RFC) for one in (self.memory.trust, low)),
        ):
            async with exports.open(trust, ExportRequest(form=form)) as export:
                data = b"".join([chunk.data async for chunk in export.chunks()])
            assert all(orjson.loads(line) for line in data.splitlines())
        texts = await self.memory.rows("SELECT name, text FROM record WHERE name IS NOT NULL")
        for row in dice.sample(texts, 15):
            asked = f"{row['name']} {row['text']}"[:500].replace("\x00", "").strip() or "x"
            await self.memory.retrieve.retrieve(self.memory.trust, RetrieveRequest(task_descriptor=asked))
        found = await verify_chains(self.memory.database, self.memory.directory.vault)
        self.faults += [f"{self._named(one.record)}: {one}" for one in found.problems]

    def _named(self, id_: UUID) -> str:
        if id_ not in self.stored:
            return str(id_)
        line, path, value = self.stored[id_]
        shown = "dropped" if value is DROPPED else "renamed" if value is RENAMED else repr(value)[:60]
        return f"{line.get('type')} {'.'.join(map(str, path))} = {shown}"


async def _fill(memory: Memory, transfer: Transfer) -> None:
    """Store what has every part that a line may have."""
    await fill(memory)

    async def stream() -> AsyncIterator[bytes]:
        yield b"Kestrel"

    uploaded = await transfer.artifacts(memory).put(memory.trust, stream(), media_type="text/plain")
    said = await memory.remember(
        SourceKind.EVENT,
        {"event_kind": "note", "ref": "n1", "text": "I went to Penhale last Friday", "summary": "a visit"},
        context={
            "mentions": [{"name": "Penhale", "type": "Place", "aliases": ["the mine"]}],
            "references": ["n0", "gateway-note"],
            "labels": ["travel"],
            "artifacts": [uploaded.uri],
        },
    )
    await memory.remember(
        SourceKind.EVENT,
        {"event_kind": "note", "ref": "n2", "text": "The token is " + "ghp_" + "aB3" * 12},
        context={"references": ["n1"]},
    )
    episode = {
        "timeline": [{"t": memory.clock.at.isoformat(), "event_kind": "run", "ref": "r", "summary": "ran it"}],
        "tool_graph": [
            {"id": "a", "tool": "ls", "args": {"path": "."}, "result": None, "timestamp": memory.clock.at.isoformat()},
            {"id": "b", "tool": "cat", "depends_on": ["a"]},
        ],
        "environment": {"os": "linux", "tool_versions": {"ls": "9"}, "context": {"shell": "sh"}},
        "artifacts": [uploaded.uri],
    }
    await memory.remember(SourceKind.EPISODE, episode)
    plan = {
        "plan_id": "p",
        "version": "1",
        "nodes": [{"id": "a", "op": "grep", "params": {"tool": "grep"}}, {"id": "b", "op": "edit", "guards": {"x": 1}}],
        "edges": [{"from": "a", "to": "b", "kind": "data"}],
        "constraints": {"os": "linux"},
        "inputs_schema": {"type": "object"},
        "metrics": {"avg_latency_ms": 3, "execution_count": 1, "last_executed_at": memory.clock.at.isoformat()},
    }
    await memory.remember(SourceKind.OBSERVATION, plan, proposed_type=MemoryType.PLAN_GRAPH)
    skill = {
        "skill_name": "s",
        "triggers": [{"signal": "a leak", "conditions": {"os": ["linux"]}}],
        "recipe": [{"step": "close it", "tool": "valve", "args_schema": {}, "validation": "it is dry"}],
        "required_tools": ["valve"],
        "failure_modes": ["it breaks"],
        "performance": {"success_count": 1, "avg_latency_ms": 2.5, "last_used_at": memory.clock.at.isoformat()},
    }
    await memory.remember(SourceKind.OBSERVATION, skill, proposed_type=MemoryType.COMPETENCE)
    working = {
        "thread_id": "w",
        "state": "blocked",
        "active_constraints": [{"type": "deadline", "key": "day", "value": None}],
        "next_actions": ["wait"],
    }
    await memory.remember(SourceKind.WORKING_STATE, working)
    names = {"aliases": [{"value": "K", "kind": "nickname", "locale": "de"}], "types": ["Release"]}
    await memory.entity("Kestrel", identifiers=[{"namespace": "path", "value": "k"}], summary="a release", **names)
    await memory.observe(
        "Kestrel",
        "needs",
        {"memory": 4},
        validity={"mode": "conditional", "conditions": {"os": ["linux"]}, "start": "2026-01-01T00:00:00Z"},
        evidence=[{"kind": "event", "ref": str(said.primary.id), "timestamp": "2026-01-01T00:00:00Z"}],
    )


async def _import_mutants(memory: Memory, other: Memory, transfer: Transfer, most: int | None) -> None:
    await _fill(memory, transfer)
    text = await transfer.text(memory)
    assert (await transfer.imported(other, transfer.file(text))).refused == []
    other.clock.at = memory.clock.at
    header, *rest = text.splitlines(keepends=True)[:-1]
    mutations = _mutations([orjson.loads(line) for line in rest])
    dice = random.Random(SEED)
    dice.shuffle(mutations)
    mutants = Mutants(replace(other), transfer, header)
    chosen = mutations[:most]
    for first in range(0, len(chosen), FILE):
        await mutants.add(chosen[first : first + FILE], first)
    assert mutants.stored, "no mutated line was stored"
    await mutants.read()
    await mutants.use(dice)
    print(len(chosen), "mutants,", len(mutants.stored), "stored,", len(mutants.faults), "faults")
    assert mutants.faults == []


async def test_what_is_stored_of_mutated_lines_can_be_read(memory: Memory, other: Memory, transfer: Transfer) -> None:
    await _import_mutants(memory, other, transfer, MUTANTS)


@pytest.mark.soak
async def test_what_is_stored_of_lines_mutated_at_every_place_can_be_read(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    await _import_mutants(memory, other, transfer, None)


async def test_half_of_a_surrogate_pair_is_refused_anywhere(memory: Memory, other: Memory, transfer: Transfer) -> None:
    await memory.observe("Lantern", "is", "bright")
    header, *rest = (await transfer.text(memory)).splitlines(keepends=True)[:-1]
    (fact,) = [line for line in rest if b'"fact":' in line]
    for path in _places(orjson.loads(fact)):
        text = _dumped(_applied((orjson.loads(fact), path, "§"), 1)).replace("§".encode(), rb"\ud800")
        sha256 = hashlib.sha256(header + text).hexdigest()
        end = line_bytes(EndLine(counts={"header": 1, "record": 1}, sha256=sha256))
        with pytest.raises(InvalidInput, match="line 2: is not JSON"):
            await transfer.imported(other, transfer.file(header + text + end))
    assert await other.value("SELECT count(*) FROM record") == 0


# Places of a line, what an editor may have put there, and the place that the refusal names.
FOREIGN: list[tuple[str, Any, str]] = [
    ("content.provenance.sources", None, "content.provenance.sources"),
    ("content.provenance.sources.0.kind", DROPPED, "content.provenance.sources.0.kind"),
    ("content.provenance.created_by", [], "content.provenance.created_by"),
    ("content.interpretation.named_times", None, "content.interpretation.named_times"),
    ("content.interpretation.mentions.0.entity_id", 1, "content.interpretation.mentions.0.entity_id"),
    ("content.interpretation.references.0.ref", {}, "content.interpretation.references.0.ref"),
    ("content.payload.environment", None, "content.payload.environment"),
    ("content.payload.timeline.0.t", "2026-01-28_09:30:00+0", "content.payload.timeline.0.t"),
    ("audit", [], "audit"),
    ("audit", DROPPED, "audit"),
    ("audit.0.actor", "", "audit.0.actor"),
    ("audit.0.actor", "x" * 3_000, "audit.0.actor"),
    ("audit.0.actor", "a\x1fb", "audit.0.actor"),
    ("audit.0.action", "explode", "audit.0.action"),
    ("audit.0.salience", 1e308, "audit.0.salience"),
    ("audit.0.salience", -1e18, "audit.0.salience"),
    ("audit.0.at", "9999-12-31T23:59:59Z", "audit.0.at"),
    ("created_at", "0001-01-01T00:00:00Z", "created_at"),
    ("lifecycle.t0", "0001-01-01T00:00:00Z", "lifecycle.t0"),
    ("artifacts", [{"sha256": "0" * 64, "media_type": "a\r\nb: c"}], "artifacts.0.media_type"),
    ("tags", ["x" * 3_000], "tags.0"),
    ("lesson", {"retrievals": 0}, "lesson"),
]


async def test_a_part_that_no_instance_writes_is_refused_by_its_place(
    memory: Memory, other: Memory, transfer: Transfer
) -> None:
    await memory.remember(SourceKind.EVENT, {"event_kind": "note", "ref": "n0", "text": "Ready"})
    await memory.remember(
        SourceKind.EVENT,
        {"event_kind": "note", "ref": "n1", "text": "I went to Penhale last Friday"},
        context={"mentions": [{"name": "Penhale"}], "references": ["n0"]},
    )
    header, *rest = (await transfer.text(memory)).splitlines(keepends=True)[:-1]
    note = next(line for line in rest if b'"references"' in line)
    for path, value, named in FOREIGN:
        steps = tuple(int(step) if step.isdigit() else step for step in path.split("."))
        changed = _dumped(_applied((orjson.loads(note), steps, value), 1))

        report = await transfer.imported(other, transfer.file(sealed_file([header, changed])))

        (refused,) = report.refused
        assert (refused.line, report.stored.total()) == (2, 0), path
        assert refused.reason.startswith(f"{named}: "), path
    report = await transfer.imported(other, transfer.file(sealed_file([header, *rest])))
    assert (report.refused, report.stored.total()) == ([], 3)
