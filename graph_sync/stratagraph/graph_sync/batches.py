"""What one Neo4j transaction writes: changes, checkpoints and progress."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any
from uuid import UUID

from neo4j import AsyncManagedTransaction

from stratagraph.graph_sync.mapping import (
    as_columns,
    has_steps,
    own_tools,
    relationship_type,
    steps_as_columns,
    tools_used,
)
from stratagraph.graph_sync.statements import of_type, statement
from stratagraph.store.feed.changes import Kind
from stratagraph.store.mirror.generations import GenerationNumbers
from stratagraph.store.mirror.source import ScanPosition
from stratagraph.store.model.errors import MirrorUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A position in the feed up to which the mirror has applied one cursor's shards.

    `snapshot` and its `nonce` name the position, and `seq` is the last change applied of the window after it, 0 for
    none. `incarnation` is the database it belongs to, and `generation` that of the rows written. A checkpoint to be
    written `follows` the (snapshot, seq) that the mirror must have reached, or it would hide that the mirror is a copy.
    """

    snapshot: int
    nonce: UUID
    incarnation: str
    generation: int
    seq: int = 0
    follows: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a rebuild has written its generation: `done` rows so far.

    The next page of `kind` begins after `position`; None means that all pages of this kind are written.
    """

    generation: int
    kind: Kind
    position: ScanPosition | None
    done: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointLock:
    """The keys of the checkpoints that a transaction locks, and the generation numbers in the rows that it writes."""

    keys: tuple[str, ...]
    numbers: GenerationNumbers


class GenerationChanged(Exception):
    """The mirror has another generation number than the rows to be written: read the numbers and convert again."""


@dataclass(slots=True, kw_only=True)
class MirrorBatch:
    """The changes that one Neo4j transaction writes, in the form in which its statements take them.

    Nodes, relations and what hangs on nodes are lists of values (see `mapping.as_columns`, `mapping.steps_as_columns`),
    so that nothing is left to be converted while the transaction is open. `attachments` are the steps, links and tools
    of those nodes that have any, keyed by the node's id. Relations and their deletions are grouped by predicate;
    `untyped_deletions` are those of relations whose row, and with it the predicate, is deleted.

    Rows that are missing from the mirror are created first, which is cheaper than a MERGE but fails with
    ConstraintValidationFailed if another transaction creates one of them at that moment. With `merge_only`, this step
    is left out.
    """

    tenants: set[int] = field(default_factory=set)
    nodes: list[list[Any]] = field(default_factory=list)
    attachments: dict[str, list[Any]] = field(default_factory=dict)
    deleted_nodes: list[dict[str, Any]] = field(default_factory=list)
    relations: dict[str, list[list[Any]]] = field(default_factory=dict)
    deleted_relations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    untyped_deletions: list[dict[str, Any]] = field(default_factory=list)
    merge_only: bool = False

    def add_node(self, node: Mapping[str, Any]) -> None:
        """Add a record as converted by `mapping.node`."""
        self.nodes.append(as_columns(node))
        if has_steps(node):
            self.attachments[node["id"]] = steps_as_columns(node)

    def add_relation(self, predicate: str, relation: Mapping[str, Any]) -> None:
        """Add a relation as converted by `mapping.relation`."""
        self.relations.setdefault(predicate, []).append(as_columns(relation))

    def sort(self) -> None:
        """Put the rows into key order, so that concurrent transactions take their locks in one order."""
        for columns in (self.nodes, *self.relations.values()):
            columns.sort(key=_COLUMNS_KEY)
        for rows in (self.deleted_nodes, *self.deleted_relations.values(), self.untyped_deletions):
            rows.sort(key=_ROW_KEY)


_COLUMNS_KEY = itemgetter(0, 1)  # tenant and id
_ROW_KEY = itemgetter("ten", "id")


async def lock_checkpoints(
    transaction: AsyncManagedTransaction, lock: CheckpointLock, tenants: set[int], checkpoint: Checkpoint | None
) -> None:
    """Lock the writer's checkpoints, compare their generations with those of the rows, and move them to `checkpoint`.

    They stay where they are without `checkpoint`, and never move backwards. Raises GenerationChanged, or
    MirrorUnavailable if one is missing or has not reached what `checkpoint` follows; the transaction must then be
    rolled back.
    """
    keys = {"keys": sorted(lock.keys), "tenants": sorted(tenants)}
    if checkpoint is None:
        result = await transaction.run(statement("lock_checkpoints"), keys)
    else:
        snapshot, seq = checkpoint.follows
        result = await transaction.run(
            statement("advance_checkpoints"),
            keys,
            snapshot=checkpoint.snapshot,
            seq=checkpoint.seq,
            nonce=str(checkpoint.nonce),
            incarnation=checkpoint.incarnation,
            least_snapshot=snapshot,
            least_seq=seq,
        )
    locked = await result.single()
    if locked is None or len(locked["gens"]) < len(lock.keys):
        raise MirrorUnavailable(
            "The mirror has lost its position in the change feed: it was emptied or replaced. The mirror worker"
            " rebuilds it by itself; queries read PostgreSQL until then."
        )
    own = dict(zip(locked["tenants"], locked["own"], strict=True))
    for tenant in tenants or {0}:
        if max(*locked["gens"], own.get(tenant, 0)) != lock.numbers.of(tenant):
            raise GenerationChanged
    if checkpoint is not None and locked["behind"]:
        raise MirrorUnavailable(
            "The mirror is an old copy. Its worker brings it up to date by itself; queries read PostgreSQL until then."
        )


async def write_batch(transaction: AsyncManagedTransaction, batch: MirrorBatch, types: Sequence[str]) -> None:
    """Write the changes of a sorted batch. `types` are the relationship types in which untyped deletions are looked up.

    Nodes are written before relations.
    """
    if batch.nodes:
        await _write_nodes(transaction, batch)
    if batch.deleted_nodes:
        result = await transaction.run(statement("delete_nodes"), rows=batch.deleted_nodes)
        await _delete_unused_tools(transaction, _tool_keys((await result.single(strict=True))["tools"]))
    for predicate, relations in sorted(batch.relations.items()):
        relation_type = relationship_type(predicate)
        existing = relations
        if not batch.merge_only:
            existing = await _create_missing(transaction, of_type("create_relations", relation_type), relations)
        if existing:
            await transaction.run(of_type("upsert_relations", relation_type), rows=existing)
    deleted = [row for rows in batch.deleted_relations.values() for row in rows] + batch.untyped_deletions
    if deleted:
        await transaction.run(statement("upsert_relation_tombstones"), rows=sorted(deleted, key=_ROW_KEY))
    for predicate, rows in sorted(batch.deleted_relations.items()):
        await transaction.run(of_type("delete_relations", relationship_type(predicate)), rows=rows)
    if batch.untyped_deletions:
        for one in types:
            await transaction.run(of_type("delete_relations", one), rows=batch.untyped_deletions)


async def _create_missing(transaction: AsyncManagedTransaction, text: str, rows: list[list[Any]]) -> list[list[Any]]:
    """Create the rows that are missing, and return the other rows."""
    record = await (await transaction.run(text, rows=rows)).single(strict=True)
    if record["created"] is None:  # all of them: from a backlog, the usual case
        return []
    created = set(record["created"])
    return [row for row in rows if row[1] not in created]


async def _write_nodes(transaction: AsyncManagedTransaction, batch: MirrorBatch) -> None:
    """Write nodes that are not older than the mirror's, with their steps and tools.

    Tools are created before and deleted after all that uses them, each time in the order of their keys.
    """
    existing = batch.nodes
    current: set[str] = set()  # ids of nodes that the mirror has in the same or a newer version
    left: set[tuple[int, str]] = set()
    if not batch.merge_only:
        existing = await _create_missing(transaction, statement("create_nodes"), existing)
    if existing:
        record = await (await transaction.run(statement("upsert_nodes"), rows=existing)).single(strict=True)
        current = {row[1] for row in existing} - set(record["written"])
        if had := set(record["had"]):
            old = [row[:2] for row in existing if row[1] in had]
            result = await transaction.run(statement("detach_steps"), rows=old)
            left |= _tool_keys((await result.single(strict=True))["tools"])
    attached = [row for id_, row in batch.attachments.items() if id_ not in current]
    attached.sort(key=_COLUMNS_KEY)
    if attached:
        used = {(row[0], tool) for row in attached for tool in tools_used(row)}
        left |= {(row[0], tool) for row in attached for tool in own_tools(row)}
        await transaction.run(statement("claim_tools"), tools=[list(key) for key in sorted(used | left)])
        await transaction.run(statement("attach_steps"), rows=attached)
        left -= used
    await _delete_unused_tools(transaction, left)


def _tool_keys(found: Iterable[Sequence[Any]]) -> set[tuple[int, str]]:
    """Return the keys of tools as (tenant, name).

    A tool whose key has other types was edited by hand; it is left out, and the scrub deletes it.
    """
    return {(ten, name) for ten, name in found if isinstance(ten, int) and isinstance(name, str)}


async def _delete_unused_tools(transaction: AsyncManagedTransaction, tools: Collection[tuple[int, str]]) -> None:
    """Delete those of the tools, given as (tenant, name), that neither a record nor a step uses."""
    if tools:
        await transaction.run(statement("delete_unused_tools"), tools=[list(key) for key in sorted(tools)])


async def save_progress(transaction: AsyncManagedTransaction, progress: Progress) -> None:
    """Store in the mirror how far a rebuild has written its generation."""
    position = progress.position
    await transaction.run(
        statement("save_progress"),
        gen=progress.generation,
        kind=int(progress.kind),
        ten=position.tenant if position is not None else None,
        id=str(position.id) if position is not None else None,
        done=progress.done,
    )
