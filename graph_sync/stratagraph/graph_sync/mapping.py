"""Conversion of rows to nodes and relationships.

Of a record's content, the mirror stores a caption of at most NAME_LENGTH characters, an entity's types, a plan's steps
and when a fact holds. It stores no text, no embedding and nothing else of the payload.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from stratagraph.store.model.enums import MemoryType, RecordState, Sensitivity
from stratagraph.store.model.trust import acl

NAME_LENGTH = 80  # characters of a caption
TYPE_LABELS = {
    MemoryType.EPISODIC: "Episodic",
    MemoryType.WORKING: "Working",
    MemoryType.ENTITY: "Entity",
    MemoryType.SEMANTIC: "Semantic",
    MemoryType.COMPETENCE: "Competence",
    MemoryType.PLAN_GRAPH: "PlanGraph",
}
RESERVED = frozenset(
    {
        *("Memory", "Mirrored", "Past", "Tomb", "RelTomb", "PlanStep", "Tool"),
        *("MirrorInfo", "SyncCheckpoint", "SyncGeneration", "SyncRebuild"),
        *TYPE_LABELS.values(),
    }
)
MAX_ENTITY_LABELS = 4
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def node(row: Mapping[str, Any], *, generation: int, names_up_to: Sensitivity, upto: int = 0) -> dict[str, Any]:
    """Return a record as a node: its key, labels and properties.

    The node replaces one of an older generation, and one of the same generation in an older version. A repair also
    replaces the versions up to `upto`.
    """
    memory_type = MemoryType(row["type"])
    live = RecordState(row["state"]) in (RecordState.ACTIVE, RecordState.CONTESTED)
    labels = ["Memory" if live else "Past", TYPE_LABELS[memory_type]]
    payload = row["payload"] or {}
    if memory_type is MemoryType.ENTITY and row["sensitivity"] <= names_up_to:
        labels += entity_labels([payload.get("primary_type"), *(payload.get("types") or ())])
    properties = {
        "ten": row["tenant"],
        "id": str(row["id"]),
        "type": memory_type.label,
        "state": RecordState(row["state"]).label,
        "acl": acl(row["scope"], row["sensitivity"]),
        "created_at": row["created_at"],
        "occurred_at": row["occurred_at"],
        "ver": row["row_version"],
        "gen": generation,
        "d": row["digest"],
    }
    if row["name"] is not None and row["sensitivity"] <= names_up_to:  # a sealed record has no name
        properties["name"] = caption(row["name"])
    for bound in ("valid_from", "valid_to"):
        if row[bound] is not None:
            properties[bound] = row[bound]
    return {**_guard(row["tenant"], row["id"], row["row_version"], generation, upto), "labels": labels, "p": properties}


def tombstone(tenant: int, id_: UUID, version: int, *, generation: int) -> dict[str, Any]:
    """Return the mirror's tombstone of a deleted record or relation, which keeps older versions from being written."""
    return {**_guard(tenant, id_, version, generation, version), "ver": version}


def _guard(tenant: int, id_: UUID, version: int, generation: int, upto: int) -> dict[str, Any]:
    return {"ten": tenant, "id": str(id_), "gen": generation, "upto": max(version - 1, upto)}


def plan(row: Mapping[str, Any], *, names_up_to: Sensitivity) -> dict[str, Any] | None:
    """Return the steps of a plan and the links between them; None for a record of another type or without payload.

    The id of a step begins with the record's id, so that two plans never share a step. Step names are free text, so a
    plan whose sensitivity is above `names_up_to` has no steps here.
    """
    if row["type"] != MemoryType.PLAN_GRAPH or row["payload"] is None:
        return None
    id_ = str(row["id"])
    if row["sensitivity"] > names_up_to:
        return {"ten": row["tenant"], "id": id_, "steps": [], "control": [], "data": []}
    return {
        "ten": row["tenant"],
        "id": id_,
        "acl": acl(row["scope"], row["sensitivity"]),
        "steps": [{"id": f"{id_}/{step['id']}", "op": step["op"]} for step in row["payload"]["nodes"]],
        "control": _links(row, "control"),
        "data": _links(row, "data"),
    }


def _links(row: Mapping[str, Any], kind: str) -> list[dict[str, str]]:
    return [
        {"source": f"{row['id']}/{edge['from']}", "target": f"{row['id']}/{edge['to']}"}
        for edge in row["payload"]["edges"]
        if edge["kind"] == kind
    ]


def relation(row: Mapping[str, Any], *, generation: int, upto: int = 0) -> dict[str, Any]:
    """Return a relation as a relationship: its key, ends and properties.

    It replaces one of an older generation or version, by the same rule as in `node`.
    """
    return {
        **_guard(row["tenant"], row["id"], row["row_version"], generation, upto),
        "src": str(row["source"]),
        "dst": str(row["target"]),
        "p": {
            "ten": row["tenant"],
            "id": str(row["id"]),
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
        created = _seconds(shown["created_at"])
        guard = [row["ten"], row["id"], row["gen"], row["upto"]]
        return [*guard, row["src"], row["dst"], shown["w"], *created, shown["ver"], shown["d"]]
    return [
        *(row["ten"], row["id"], row["gen"], row["upto"], row["labels"]),
        *(shown["type"], shown["state"], shown["acl"]),
        *_seconds(shown["created_at"]),
        *_seconds(shown["occurred_at"]),
        *(shown["ver"], shown["d"], shown.get("name"), shown.get("valid_from"), shown.get("valid_to")),
    ]


def _seconds(at: datetime) -> tuple[int, int]:
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
