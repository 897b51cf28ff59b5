"""Conversion of rows to what the mirror shows of them: `node` for a record, `relation` for a relation.

Of a record's content, the mirror stores a caption of at most NAME_LENGTH characters, an entity's types, a plan's steps
and version and how often they were executed, what kind of event an episodic record is, which tools it called and
whether a call failed, and when a fact holds. It stores no text, no embedding and nothing else of the payload.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity
from stratagraph.store.model.payloads.plan_graph import tool_of_step
from stratagraph.store.model.predicates import INVERSES, LINEAGE
from stratagraph.store.model.trust import acl

# The version of this conversion, stored in the mirror's checkpoints. Increase it with every change of what the mirror
# shows of a row: the worker rebuilds a mirror that was written by another version.
VERSION = 4

NAME_LENGTH = 80  # characters of a caption
TYPE_LABELS = {
    MemoryType.EPISODIC: "Episodic",
    MemoryType.WORKING: "Working",
    MemoryType.ENTITY: "Entity",
    MemoryType.SEMANTIC: "Semantic",
    MemoryType.COMPETENCE: "Competence",
    MemoryType.PLAN_GRAPH: "PlanGraph",
}
EVENT_LABELS = {
    "agent_turn": "Turn",
    "tool_output": "ToolCall",
    "tool_error": "ToolCall",
    "commit": "Commit",
}  # of episodic records with one event, by its kind; any other kind is an Event
EPISODE_LABEL = "Episode"  # of episodic records that consist of several events
RESERVED = frozenset(
    {
        *("Memory", "Mirrored", "Past", "Tomb", "RelTomb", "PlanStep", "Tool"),
        *("MirrorInfo", "SyncCheckpoint", "SyncGeneration", "SyncRebuild"),
        *TYPE_LABELS.values(),
        *EVENT_LABELS.values(),
        *("Event", EPISODE_LABEL),
    }
)
# The types of relationships that do not come from predicates of people's own
RELATIONSHIP_TYPES = frozenset(
    {
        *(predicate.upper() for predicate in (*INVERSES, *LINEAGE)),
        *("HAS_STEP", "PRECEDES", "FEEDS", "USES_TOOL", "IS_TOOL"),
    }
)
PLAN_PROPERTIES = ("plan", "version", "executed", "failed", "failure_rate")  # of plans and their steps
MAX_ENTITY_LABELS = 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def node(row: Mapping[str, Any], *, generation: int, names_up_to: Sensitivity, upto: int = 0) -> dict[str, Any]:
    """Return everything that the mirror shows of a record.

    The result has the node's key (`ten`, `id`), `labels` and properties (`p`), and what hangs on it: the `steps` of a
    plan (`id`, `op` and `tool` of each, how often it was `executed` and `failed`, where that is known, and the plan's
    `acl`), the `links` between them (`source`, `target` and the
    relationship type `kind`), the names of the tools that an episodic record called (`called`), and the name of the
    tool that an entity is (`p.tool`). A record whose sensitivity is above `names_up_to` has no name, no types and
    nothing that hangs on it.

    The node replaces one of an older generation, and one of the same generation in an older version. A repair also
    replaces the versions up to `upto`.
    """
    memory_type = MemoryType(row["type"])
    id_ = str(row["id"])
    live = RecordState(row["state"]) in (RecordState.ACTIVE, RecordState.CONTESTED)
    named = row["sensitivity"] <= names_up_to
    payload = (row["payload"] if named else None) or {}  # that of a sealed record is null
    number = acl(row["scope"], row["sensitivity"])
    properties = {
        "ten": row["tenant"],
        "id": id_,
        "type": memory_type.label,
        "state": RecordState(row["state"]).label,
        "acl": number,
        "created_at": row["created_at"],
        "occurred_at": row["occurred_at"],
        "ver": row["row_version"],
        "gen": generation,
        "d": row["digest"],
    }
    if row["name"] is not None and named:
        properties["name"] = caption(row["name"])
    for bound in ("valid_from", "valid_to"):
        if row[bound] is not None:
            properties[bound] = row[bound]
    labels = ["Memory" if live else "Past", TYPE_LABELS[memory_type]]
    steps: list[dict[str, Any]] = []
    links: list[dict[str, str]] = []
    called: list[str] = []
    if payload and memory_type is MemoryType.ENTITY:
        labels += entity_labels([payload.get("primary_type"), *(payload.get("types") or ())])
        if live and payload.get("tool"):
            properties["tool"] = payload["tool"].strip()
    elif payload and memory_type is MemoryType.EPISODIC:
        labels.append(event_label(payload))
        called = sorted({tool.strip() for tool in payload["tools"]})
        if payload["event_kinds"] == ["tool_error"]:
            properties["failed"] = True
    elif payload and memory_type is MemoryType.PLAN_GRAPH:
        properties |= _plan(payload)
        steps = [_step(id_, step, number) for step in payload["nodes"]]
        links = [_link(id_, edge) for edge in payload["edges"]]
    return {
        **_guard(row["tenant"], id_, row["row_version"], generation, upto),
        "labels": labels,
        "p": properties,
        "steps": steps,
        "links": links,
        "called": called,
    }


def event_label(payload: Mapping[str, Any]) -> str:
    """Return the label of an episodic record: Turn, ToolCall, Commit or another Event, or an Episode of several.

    `payload` has the kinds of its first two events (`event_kinds`) and whether it has an `outcome`, as only an episode
    does. The episode of a thread refers to its events and has none of its own.

    >>> event_label({"event_kinds": ["tool_error"], "outcome": None})
    'ToolCall'
    >>> event_label({"event_kinds": ["start"], "outcome": "success"})
    'Episode'
    """
    kinds = payload["event_kinds"]
    if len(kinds) != 1:
        return EPISODE_LABEL
    return EVENT_LABELS.get(kinds[0]) or (EPISODE_LABEL if payload["outcome"] else "Event")


def _step(plan: str, step: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return a step of a plan. Its id begins with the record's id, so that two plans never share a step."""
    op: str = step["op"]
    counts = step.get("metrics") or {}
    return {
        "id": f"{plan}/{step['id']}",
        "op": op,
        "tool": tool_of_step(step) or op.strip(),
        "acl": number,
        "executed": _number(counts.get("execution_count"), int),
        "failed": _number(counts.get("failure_count"), int),
    }


def _plan(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of a plan: its `plan` id, its `version`, and what its metrics say of executions."""
    metrics = payload.get("metrics") or {}
    found = {
        "plan": caption(payload["plan_id"]),
        "version": caption(payload["version"]),
        "executed": _number(metrics.get("execution_count"), int),
        "failure_rate": _number(metrics.get("failure_rate"), float),
    }
    return {name: value for name, value in found.items() if value is not None}


def _number(value: object, kind: type[int] | type[float]) -> int | float | None:
    """Return a number of a payload as the mirror stores it; None for anything else."""
    return kind(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _link(plan: str, edge: Mapping[str, Any]) -> dict[str, str]:
    kind = "PRECEDES" if edge["kind"] == "control" else "FEEDS"
    return {"source": f"{plan}/{edge['from']}", "target": f"{plan}/{edge['to']}", "kind": kind}


def tombstone(tenant: int, id_: UUID, version: int, *, generation: int) -> dict[str, Any]:
    """Return the mirror's tombstone of a deleted record or relation, which keeps older versions from being written."""
    digest = tombstone_digest(tenant, str(id_), version, generation)
    return {**_guard(tenant, str(id_), version, generation, version), "ver": version, "d": digest}


def tombstone_digest(tenant: int, id_: str, version: int, generation: int) -> int:
    """Return the 32-bit digest of a tombstone, by which one that the worker did not write is recognised.

    Postgres does not know which tombstones there must be; they expire after a day.
    """
    text = f"{tenant}|{id_}|{version}|{generation}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")


def _guard(tenant: int, id_: str, version: int, generation: int, upto: int) -> dict[str, Any]:
    return {"ten": tenant, "id": id_, "gen": generation, "upto": max(version - 1, upto)}


def relation(row: Mapping[str, Any], *, generation: int, upto: int = 0) -> dict[str, Any]:
    """Return a relation as a relationship: its key, ends and properties.

    It replaces one of an older generation or version, by the same rule as in `node`.
    """
    id_ = str(row["id"])
    return {
        **_guard(row["tenant"], id_, row["row_version"], generation, upto),
        "src": str(row["source"]),
        "dst": str(row["target"]),
        "p": {
            "ten": row["tenant"],
            "id": id_,
            "w": row["weight"],
            "created_at": row["created_at"],
            "ver": row["row_version"],
            "gen": generation,
            "d": row["digest"],
        },
    }


def as_columns(row: Mapping[str, Any]) -> list[Any]:
    """Return a node or relationship as a list of values in the order that its Cypher statement expects.

    Each point in time becomes two numbers.
    Parameters by name and the driver's own time type took half of a worker's CPU time.
    """
    shown = row["p"]
    if "src" in row:
        created = seconds_and_nanoseconds(shown["created_at"])
        guard = [row["ten"], row["id"], row["gen"], row["upto"]]
        return [*guard, row["src"], row["dst"], shown["w"], *created, shown["ver"], shown["d"]]
    return [
        *(row["ten"], row["id"], row["gen"], row["upto"], row["labels"]),
        *(shown["type"], shown["state"], shown["acl"]),
        *seconds_and_nanoseconds(shown["created_at"]),
        *seconds_and_nanoseconds(shown["occurred_at"]),
        *(shown["ver"], shown["d"], shown.get("name"), shown.get("valid_from"), shown.get("valid_to")),
        *(shown.get("tool"), shown.get("failed")),
        *(shown.get("plan"), shown.get("version"), shown.get("executed"), shown.get("failure_rate")),
    ]


def has_steps(row: Mapping[str, Any]) -> bool:
    """Return whether a node has steps or is related to tools."""
    return bool(row["steps"] or row["called"] or "tool" in row["p"])


def steps_as_columns(row: Mapping[str, Any]) -> list[Any]:
    """Return the steps, links and tools of a node as a list of values in the order of its Cypher statement."""
    return [
        *(row["ten"], row["id"]),
        [[step[name] for name in ("id", "op", "tool", "acl", "executed", "failed")] for step in row["steps"]],
        [[link["source"], link["target"]] for link in row["links"] if link["kind"] == "PRECEDES"],
        [[link["source"], link["target"]] for link in row["links"] if link["kind"] == "FEEDS"],
        row["called"],
        [row["p"]["tool"]] if "tool" in row["p"] else [],
    ]


def tools_used(columns: Sequence[Any]) -> list[str]:
    """Return the names of the tools that a record or its steps use, given `steps_as_columns`."""
    return [*columns[5], *(step[2] for step in columns[2])]


def own_tools(columns: Sequence[Any]) -> list[str]:
    """Return the name of the tool that an entity is, if it is one, given `steps_as_columns`."""
    names: list[str] = columns[6]
    return names


def seconds_and_nanoseconds(at: datetime) -> tuple[int, int]:
    """Return the whole seconds since 1970 and the remaining nanoseconds."""
    since = at - _EPOCH
    return since.days * 86_400 + since.seconds, since.microseconds * 1_000


def microseconds(at: datetime) -> int:
    """Return the whole microseconds since 1970, the form in which the mirror stores when a fact holds."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def relationship_type(predicate: str) -> str:
    """Return the relationship type of a predicate: MENTIONS_ENTITY for `mentions_entity`.

    Predicates are checked at capture, so the result is safe in Cypher.
    """
    return predicate.upper()


def entity_labels(types: list[str | None]) -> list[str]:
    """Return entity types as node labels in PascalCase, letters and digits only, at most MAX_ENTITY_LABELS.

    Types that give no label, or one that the mirror itself uses, are left out.

    >>> entity_labels(["Person", "data set", "Memory", "42"])
    ['Person', 'DataSet']
    """
    labels = []
    for entity_type in types:
        words = re.findall(r"[A-Za-z0-9]+", entity_type or "")
        label = "".join(word[0].upper() + word[1:] for word in words)[:64]
        if label and label[0].isalpha() and label not in RESERVED and label not in labels:
            labels.append(label)
    return labels[:MAX_ENTITY_LABELS]


def caption(name: str) -> str:
    """Return a name on one line, cut to NAME_LENGTH characters."""
    line = " ".join(name.split())
    return line if len(line) <= NAME_LENGTH else line[: NAME_LENGTH - 1] + "…"
