"""What one Neo4j transaction writes: changes, checkpoints and progress."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from neo4j import AsyncManagedTransaction

from stratagraph.graph_sync.mapping import as_columns, has_steps, relationship_type, steps_as_columns, tools_used
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
    """The changes that one Neo4j transaction writes.

    Relations and their deletions are grouped by predicate; `untyped_deletions` are those of relations whose row, and
    with it the predicate, is deleted.

    Rows that are missing from the mirror are created first, which is cheaper than a MERGE but fails with
    ConstraintValidationFailed if another transaction creates one of them at that moment. With `merge_only`, this step
    is left out.
    """

    tenants: set[int] = field(default_factory=set)
    nodes: list[dict[str, Any]] = field(default_factory=list)
    deleted_nodes: list[dict[str, Any]] = field(default_factory=list)
    relations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    deleted_relations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    untyped_deletions: list[dict[str, Any]] = field(default_factory=list)
    merge_only: bool = False


async def lock_checkpoints(transaction: AsyncManagedTransaction, lock: CheckpointLock, tenants: set[int]) -> None:
    """Lock the writer's checkpoints and compare their generations with those of the rows.

    Raises GenerationChanged, or MirrorUnavailable if a checkpoint is missing.
    """
    result = await transaction.run(statement("lock_checkpoints"), keys=sorted(lock.keys), tenants=sorted(tenants))
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


async def write_batch(transaction: AsyncManagedTransaction, batch: MirrorBatch, types: Sequence[str]) -> None:
    """Write the changes of a batch. `types` are the relationship types in which untyped deletions are looked up.

    Nodes are written before relations, each in key order, so that concurrent transactions take their locks in one
    order.
    """
    if batch.nodes:
        await _write_nodes(transaction, _sorted(batch.nodes), merge_only=batch.merge_only)
    if batch.deleted_nodes:
        result = await transaction.run(statement("delete_nodes"), rows=_sorted(batch.deleted_nodes))
        tools = (await result.single(strict=True))["tools"]
        await _delete_unused_tools(transaction, {(tenant, name) for tenant, name in tools})
    for predicate, rows in sorted(batch.relations.items()):
        columns = [as_columns(row) for row in _sorted(rows)]
        relation_type = relationship_type(predicate)
        if not batch.merge_only:
            columns, _ = await _create_missing(transaction, of_type("create_relations", relation_type), columns)
        if columns:
            await transaction.run(of_type("upsert_relations", relation_type), rows=columns)
    deleted = [row for rows in batch.deleted_relations.values() for row in rows] + batch.untyped_deletions
    if deleted:
        await transaction.run(statement("upsert_relation_tombstones"), rows=_sorted(deleted))
    for predicate, rows in sorted(batch.deleted_relations.items()):
        await transaction.run(of_type("delete_relations", relationship_type(predicate)), rows=_sorted(rows))
    if batch.untyped_deletions:
        for one in types:
            await transaction.run(of_type("delete_relations", one), rows=_sorted(batch.untyped_deletions))


async def _create_missing(
    transaction: AsyncManagedTransaction, text: str, rows: list[list[Any]]
) -> tuple[list[list[Any]], set[str]]:
    """Create the rows that are missing; return the other rows, and the ids of those created."""
    record = await (await transaction.run(text, rows=rows)).single(strict=True)
    created = set(record["created"])
    return [row for row in rows if row[1] not in created], created


async def _write_nodes(
    transaction: AsyncManagedTransaction, nodes: Sequence[Mapping[str, Any]], *, merge_only: bool
) -> None:
    """Write nodes that are not older than the mirror's, with their steps and tools.

    Tools are created before and deleted after all that uses them, each time in the order of their keys.
    """
    columns = [as_columns(row) for row in nodes]
    written: set[str] = set()
    had: set[str] = set()
    if not merge_only:
        columns, written = await _create_missing(transaction, statement("create_nodes"), columns)
    if columns:
        record = await (await transaction.run(statement("upsert_nodes"), rows=columns)).single(strict=True)
        written.update(record["written"])
        had.update(record["had"])
    left: set[tuple[int, str]] = set()
    if had:
        old = [[row["ten"], row["id"]] for row in nodes if row["id"] in had]
        result = await transaction.run(statement("detach_steps"), rows=old)
        found = (await result.single(strict=True))["tools"]
        # A tool with another key was edited by hand; the scrub deletes it.
        left |= {(ten, name) for ten, name in found if isinstance(ten, int) and isinstance(name, str)}
    rows = [row for row in nodes if row["id"] in written and has_steps(row)]
    if rows:
        used = {(row["ten"], tool) for row in rows for tool in tools_used(row)}
        left |= {(row["ten"], row["p"]["tool"]) for row in rows if "tool" in row["p"]}
        await transaction.run(statement("claim_tools"), tools=[list(key) for key in sorted(used | left)])
        await transaction.run(statement("attach_steps"), rows=[steps_as_columns(row) for row in rows])
        left -= used
    await _delete_unused_tools(transaction, left)


async def _delete_unused_tools(transaction: AsyncManagedTransaction, tools: Collection[tuple[int, str]]) -> None:
    """Delete those of the tools, given as (tenant, name), that neither a record nor a step uses."""
    if tools:
        await transaction.run(statement("delete_unused_tools"), tools=[list(key) for key in sorted(tools)])


async def advance_checkpoints(
    transaction: AsyncManagedTransaction, lock: CheckpointLock, checkpoint: Checkpoint
) -> None:
    """Move the locked checkpoints to `checkpoint`; they never move backwards.

    Raises MirrorUnavailable, so that the transaction is rolled back, if one has not reached what `checkpoint` follows.
    """
    snapshot, seq = checkpoint.follows
    result = await transaction.run(
        statement("advance_checkpoints"),
        keys=sorted(lock.keys),
        snapshot=checkpoint.snapshot,
        seq=checkpoint.seq,
        nonce=str(checkpoint.nonce),
        incarnation=checkpoint.incarnation,
        least_snapshot=snapshot,
        least_seq=seq,
    )
    if (await result.single(strict=True))["behind"]:
        raise MirrorUnavailable(
            "The mirror is an old copy. Its worker brings it up to date by itself; queries read PostgreSQL until then."
        )


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


def _sorted(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["ten"], row["id"]))
