"""Graphiti: episodes, entity nodes and edges, as JSON of its models or as the rows of a Neo4j export (APOC).

An edge is a fact that holds from `valid_at` until `invalid_at`, or until it was expired; its episodes are its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from stratagraph.memory.imports.fields import Fields, Reading
from stratagraph.memory.imports.formats.format import Difference, first_difference
from stratagraph.memory.imports.memories.form import Happening, Named, RefusedMemory, Statement, Thing
from stratagraph.memory.imports.memories.format import Found, MemoryFormat, Row, Rows, each, first_fitting
from stratagraph.memory.imports.memories.neo4j_export import is_exported, properties_of
from stratagraph.store.model.errors import InvalidInput

_SYSTEM = "graphiti"
_LISTS = ("episodes", "episodic_nodes", "nodes", "entity_nodes", "communities", "edges", "entity_edges")
_LISTS_OF_MENTIONS = ("episodic_edges",)
_ENTITY_LABELS = ("Entity", "Community", "Episodic", "Node")
_EMBEDDINGS = ("name_embedding", "fact_embedding")
_EPISODE, _NODE, _EDGE, _MENTION = "episode", "node", "edge", "mention"


def _difference(row: Any) -> Difference | None:
    return first_fitting((value for _, _, value in _parts(Row("", row))), _part_difference)


def _part_difference(part: Any) -> Difference | None:
    value = _plain(part)
    is_object = isinstance(value, dict)
    return first_difference(
        [
            (is_object, "its first value is no object"),
            (is_object and isinstance(value.get("uuid"), str), "it has no `uuid` that is a string"),
            (
                is_object and ("group_id" in value or _kind(value) is not None),
                "it has no `group_id`",
            ),
            (is_object and _kind(value) is not None, "it is neither an episode nor an entity node nor an edge"),
        ]
    )


@dataclass(slots=True)
class _Index:
    """What edges refer to by uuid: the names of nodes, the episodes read, and the entities that each one mentions."""

    nodes: dict[str, Named] = field(default_factory=dict)
    mentions: dict[str, list[str]] = field(default_factory=dict)
    episodes: set[str] = field(default_factory=set)


def _read(rows: Rows, reading: Reading) -> Iterator[Found]:
    index = _Index()
    for row in rows:
        if isinstance(row, RefusedMemory):
            yield row
            continue
        if isinstance(row.value, dict) and _is_graph(row.value):
            with reading.object(row.value, "") as fields:
                fields.take(*_LISTS, *_LISTS_OF_MENTIONS)
        for place, within, value in _parts(row):
            plain = _plain(value)
            kind = _kind(plain)
            if kind == _NODE and isinstance(plain.get("name"), str) and plain["name"].strip():
                index.nodes[plain["uuid"]] = _named(plain)
            elif kind == _MENTION:
                yield from each([(place, plain)], reading, partial(_mention, index=index), within=within)
            elif kind is None:
                yield RefusedMemory(place=place, reason="is neither an episode nor an entity node nor an edge")
    readers: dict[str, Callable[..., Iterable[Found]]] = {
        _EPISODE: _episode,  # first, because edges name them as sources
        _NODE: _node,
        _EDGE: _edge,
    }
    for wanted, read in readers.items():
        if wanted == _EDGE:
            unused = sum(len(ends) for source, ends in index.mentions.items() if source not in index.episodes)
            reading.skipped["edges that are neither facts nor mentions of an episode"] += unused
        for row in rows:
            for place, within, value in _parts(row) if isinstance(row, Row) else ():
                plain = _plain(value)
                if _kind(plain) == wanted:
                    yield from each([(place, plain)], reading, partial(read, index=index), within=within)


def _is_graph(value: dict[str, Any]) -> bool:
    return "uuid" not in value and any(isinstance(value.get(name), list) for name in _LISTS)


def _parts(row: Row) -> Iterator[tuple[str, str, Any]]:
    """Yield the nodes, edges and episodes of a row, each with its place and its path in the row."""
    value = row.value
    if not isinstance(value, dict) or not _is_graph(value):
        yield row.place, "", value
        return
    for name in (*_LISTS, *_LISTS_OF_MENTIONS):
        listed = value.get(name)
        for number, one in enumerate(listed if isinstance(listed, list) else ()):
            path = f"{name}.{number}"
            yield " ".join(filter(None, (row.place, path))), path, one


def _plain(value: Any) -> Any:
    """Return a node or an edge as its model has it, also of a row of an export."""
    return properties_of(value) if is_exported(value) else value


def _kind(value: Any) -> str | None:
    """Return what a value is, by its fields; None if it is nothing of Graphiti."""
    if not isinstance(value, dict) or not isinstance(value.get("uuid"), str) or not value["uuid"].strip():
        return None
    if "source_node_uuid" in value and "target_node_uuid" in value:
        return _EDGE if "fact" in value or "name" in value else _MENTION
    if "content" in value and ("source" in value or "valid_at" in value):
        return _EPISODE
    return _NODE if "name" in value and ("labels" in value or "summary" in value or "group_id" in value) else None


def _named(node: dict[str, Any]) -> Named:
    labels = node.get("labels")
    types = [one for one in labels if isinstance(one, str)] if isinstance(labels, list) else []
    own = [one for one in types if one not in _ENTITY_LABELS and one.strip()]
    type_ = own[0] if own else "Community" if "Community" in types else None
    return Named(name=node["name"], type=type_[:64] if type_ else None, id=node["uuid"])


def _mention(fields: Fields, index: _Index) -> Iterable[Found]:
    episode, entity = fields.required_text("source_node_uuid"), fields.required_text("target_node_uuid")
    fields.take("uuid", "group_id", "created_at")
    index.mentions.setdefault(episode, []).append(entity)
    return ()


def _episode(fields: Fields, index: _Index) -> Iterable[Found]:
    uuid, text = fields.required_text("uuid"), fields.required_text("content")
    created, valid = fields.time("created_at"), fields.time("valid_at")
    fields.take("entity_edges", "labels")
    index.episodes.add(uuid)
    more = {
        name: value for name in ("name", "source", "source_description") if (value := fields.text(name)) is not None
    }
    yield Happening(
        id=f"episode:{uuid}",
        kind="episode",
        text=text,
        at=valid or created,
        about=tuple(index.nodes[one] for one in index.mentions.get(uuid, ()) if one in index.nodes),
        tags=_tags(fields),
        more=more,
    )


def _node(fields: Fields, index: _Index) -> Iterable[Found]:
    uuid = fields.required_text("uuid")
    fields.required_text("name")
    named = index.nodes[uuid]
    labels = [one for one in fields.list("labels") if isinstance(one, str)]
    at, tags = fields.time("created_at"), _tags(fields)
    fields.skip("embeddings", *_EMBEDDINGS)
    yield Thing(
        id=f"node:{uuid}",
        named=named,
        types=tuple(one for one in labels if one not in _ENTITY_LABELS and one != named.type and one.strip()),
        summary=fields.text("summary"),
        at=at,
        tags=tags,
    )
    for name, value in _attributes(fields):
        yield Statement(id=f"attribute:{uuid}:{name}", subject=named, predicate=name, value=value, at=at, tags=tags)


def _edge(fields: Fields, index: _Index) -> Iterable[Found]:
    uuid = fields.required_text("uuid")
    ids = [fields.required_text(f"{end}_node_uuid") for end in ("source", "target")]
    predicate, fact = fields.text("name"), fields.text("fact")
    start, invalid, expired = (fields.time(name) for name in ("valid_at", "invalid_at", "expired_at"))
    end = invalid or expired
    created = fields.time("created_at")
    reference = fields.time("reference_time")
    fields.skip("embeddings", *_EMBEDDINGS)
    sources = tuple(f"episode:{one}" for one in fields.list("episodes") if isinstance(one, str) and one.strip())
    more = {name: at.isoformat() for name, at in (("expired_at", expired), ("reference_time", reference)) if at}
    attributes = dict(_attributes(fields))
    tags = _tags(fields)
    if start is not None and end is not None and end <= start:
        fields.reading.skipped["edges that held for no time (invalid_at or expired_at is not after valid_at)"] += 1
        return
    subject, value = _ends(fields, index, ids, fact)
    yield Statement(
        id=f"edge:{uuid}",
        subject=subject,
        predicate=predicate if predicate and predicate.strip() else "relates_to",
        value=value,
        start=start,
        end=end,
        text=fact,
        sources=sources,
        at=created,
        tags=tags,
        more={**more, **({"attributes": attributes} if attributes else {})},
    )


def _ends(fields: Fields, index: _Index, ids: Sequence[str], fact: str | None) -> tuple[Named, Named | str]:
    """Return the subject and the object of an edge.

    Of an edge whose nodes are not in the file, as in the results of a search, only the text is known: it is said of the
    group. Raises InvalidInput where there is no text either.
    """
    ends = [index.nodes[id_] for id_ in ids if id_ in index.nodes]
    if len(ends) == len(ids):
        return ends[0], ends[1]
    if not fact or not fact.strip():
        missing = next(id_ for id_ in ids if id_ not in index.nodes)
        raise InvalidInput(f"{fields.path('source_node_uuid')}: no node of the file has the uuid {missing[:64]!r}")
    fields.reading.skipped["nodes of edges that are not in the file (the edge is kept as its text)"] += 1
    group = fields.id("group_id")
    return Named(name=group or _SYSTEM, id=f"group:{group or ''}"), fact


def _tags(fields: Fields) -> tuple[str, ...]:
    group = fields.id("group_id")
    return (f"group:{group}",) if group is not None else ()


def _attributes(fields: Fields) -> Iterator[tuple[str, Any]]:
    """Yield the further attributes of a node or an edge, which a custom type has."""
    value = fields.take("attributes")
    if not isinstance(value, dict):
        return
    for name, one in value.items():
        if one not in (None, "", [], {}) and name.strip():
            yield name, one


GRAPHITI = MemoryFormat(
    key="graphiti",
    name="Graphiti",
    system=_SYSTEM,
    documented="graphiti-core 0.28 (EpisodicNode, EntityNode, EntityEdge; APOC export of Neo4j)",
    difference=_difference,
    read=_read,
    fields=frozenset(
        {*_LISTS, *_LISTS_OF_MENTIONS, *_EMBEDDINGS, "uuid", "group_id", "labels", "name", "fact", "valid_at"}
        | {"invalid_at", "expired_at", "source_node_uuid", "target_node_uuid", "source_description", "properties"}
    ),
)
