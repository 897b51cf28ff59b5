"""What episodes showed of the words of tasks and the tools that they need, and the models made of it. No content.

Words are search terms, and names of tools, skills and plans are keyed hashes.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import Outcome, Sensitivity
from stratagraph.store.model.ids import new_id
from stratagraph.store.postgres.queries import Row, fetch, run

EXAMPLES = 1_000  # of a group, of which a model is made, the newest
KEPT_EXAMPLES = 2 * EXAMPLES  # that are stored, the newest: some of them may be undone
KEY_BYTES = 16  # of the keyed hash of a tool's name
MODELS = 8  # of the groups that a caller may read, which one question asks, the newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One episode: the tools that it used, and how often each term of the task was said.

    `skill` and `plan` are the handle keys of the skill and the plan with these tools, whether there are such or not.
    """

    episode: UUID
    closed_at: datetime
    outcome: Outcome
    skill: bytes
    plan: bytes
    tools: tuple[bytes, ...]
    terms: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """The version of the model of a group."""

    group: Group
    version: UUID


def tool_key(tenant: Tenant, tool: str) -> bytes:
    """Return the keyed hash that is stored in place of the name of a tool."""
    return keyed_hash(tenant.index_key, "needed tool", tool.encode())[:KEY_BYTES]


def split_keys(joined: bytes, size: int = KEY_BYTES) -> tuple[bytes, ...]:
    """Return the keys of `size` bytes that were joined."""
    return tuple(joined[at : at + size] for at in range(0, len(joined), size))


async def store_examples(connection: AsyncConnection, group: Group, run_id: UUID, examples: Sequence[Example]) -> None:
    """Store examples of a run, in place of those of the same episodes; delete all but the newest of the group."""
    if not examples:
        return
    await run(
        connection,
        "store_examples",
        **_group(group),
        run=run_id,
        episodes=[one.episode for one in examples],
        closed=[one.closed_at for one in examples],
        outcomes=[int(one.outcome) for one in examples],
        skills=[one.skill for one in examples],
        plans=[one.plan for one in examples],
        tools=[b"".join(one.tools) for one in examples],
        terms=[array("i", one.terms).tobytes() for one in examples],
        counts=[array("h", one.counts).tobytes() for one in examples],
    )
    await run(connection, "trim_examples", **_group(group), kept=KEPT_EXAMPLES)


async def fetch_examples(connection: AsyncConnection, group: Group) -> list[Example]:
    """Return the newest EXAMPLES examples of a group, by when their episodes were closed."""
    rows = await fetch(connection, "fetch_examples", **_group(group), most=EXAMPLES)
    return [
        Example(
            episode=row["episode"],
            closed_at=row["closed_at"],
            outcome=Outcome(row["outcome"]),
            skill=bytes(row["skill"]),
            plan=bytes(row["plan"]),
            tools=split_keys(bytes(row["tools"])),
            terms=tuple(array("i", bytes(row["terms"]))),
            counts=tuple(array("h", bytes(row["counts"]))),
        )
        for row in rows
    ]


async def delete_examples(connection: AsyncConnection, tenant: Tenant, episodes: Collection[UUID]) -> list[Group]:
    """Delete the examples of episodes; return the groups that had some."""
    if not episodes:
        return []
    rows = await fetch(connection, "delete_examples", tenant=tenant.id, episodes=sorted(episodes))
    return [Group(tenant.id, row["scope"], Sensitivity(row["sensitivity"])) for row in rows]


async def lock_model(connection: AsyncConnection, group: Group, *, at: datetime) -> None:
    """Lock the model of a group until the end of the transaction, before its examples are read."""
    await run(connection, "lock_tool_model", **_group(group), version=new_id(), at=at)


async def store_model(connection: AsyncConnection, group: Group, model: bytes | None, *, at: datetime) -> None:
    """Replace the locked model of a group; None deletes it."""
    if model is None:
        await run(connection, "delete_tool_model", **_group(group))
    else:
        await run(connection, "store_tool_model", **_group(group), version=new_id(), at=at, model=model)


async def list_models(connection: AsyncConnection, caller: Caller) -> list[ModelVersion]:
    """Return the newest MODELS models that a caller may read."""
    rows = await fetch(connection, "list_tool_models", **caller.parameters(), most=MODELS)
    return [_version(caller.tenant, row) for row in rows]


async def fetch_models(
    connection: AsyncConnection, tenant: Tenant, groups: Sequence[Group]
) -> dict[ModelVersion, bytes]:
    """Return the models of groups."""
    if not groups:
        return {}
    rows = await fetch(
        connection,
        "fetch_tool_models",
        tenant=tenant.id,
        of_scopes=[one.scope for one in groups],
        levels=[int(one.sensitivity) for one in groups],
    )
    return {_version(tenant, row): bytes(row["model"]) for row in rows}


async def note_refused(connection: AsyncConnection, tenant: Tenant, records: Collection[UUID]) -> None:
    """Note the names of the skills and plans among retracted records, so that learning does not make them again."""
    await run(connection, "note_refused_procedures", tenant=tenant.id, ids=sorted(records))


async def find_refused(connection: AsyncConnection, group: Group, keys: Collection[bytes]) -> set[bytes]:
    """Return which of the handle keys of skills and plans were refused in a group."""
    if not keys:
        return set()
    rows = await fetch(connection, "find_refused_procedures", **_group(group), keys=sorted(keys))
    return {bytes(row["key"]) for row in rows}


async def refused_for(
    connection: AsyncConnection, caller: Caller, keys: Collection[bytes]
) -> set[tuple[int, Sensitivity]]:
    """Return the scopes and sensitivities that a caller may read in which one of the handle keys was refused."""
    rows = await fetch(connection, "find_refused_by_reader", **caller.parameters(), keys=sorted(keys))
    return {(row["scope"], Sensitivity(row["sensitivity"])) for row in rows}


async def delete_refused(connection: AsyncConnection, tenant: Tenant, records: Collection[UUID]) -> None:
    """Delete the notes on those of the records that are skills and plans which were retracted, before these go."""
    await run(connection, "delete_refused_procedures", tenant=tenant.id, ids=sorted(records))


def _group(group: Group) -> dict[str, int]:
    return {"tenant": group.tenant, "scope": group.scope, "sensitivity": int(group.sensitivity)}


def _version(tenant: Tenant, row: Row) -> ModelVersion:
    return ModelVersion(Group(tenant.id, row["scope"], Sensitivity(row["sensitivity"])), row["version"])
