"""What learning notes of tools, and of episodes of procedures that are no skill yet. No content: names are hashed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.learning.episodes import DueEpisode
from stratagraph.store.learning.groups import Group
from stratagraph.store.model.canonical import keyed_hash
from stratagraph.store.model.enums import Outcome
from stratagraph.store.postgres.queries import fetch, run

NOTED = 50  # episodes of one procedure from which a skill is made, the newest
RUNS = 200  # whose evidence of a tool counts, the newest
KEPT_RUNS = 2 * RUNS  # whose evidence of a tool is stored, the newest: some of them may be undone


async def note_signatures(
    connection: AsyncConnection, tenant: Tenant, group: Group, run_id: UUID, signatures: Mapping[UUID, str]
) -> None:
    """Note the name of the skill that each episode belongs to, once there is one."""
    ids = sorted(signatures)
    await run(
        connection,
        "note_signatures",
        **_group(group),
        run=run_id,
        episodes=ids,
        signatures=[_key(tenant, "signature", signatures[id_]) for id_ in ids],
    )


async def mark_awaiting_skill(
    connection: AsyncConnection, tenant: Tenant, episodes: Collection[UUID], *, awaits: bool
) -> None:
    """Let pruning keep episodes until their skill is made, or no longer."""
    if episodes:
        await run(connection, "mark_awaiting_skill", tenant=tenant.id, ids=sorted(episodes), awaits=awaits)


async def noted_episodes(
    connection: AsyncConnection, tenant: Tenant, group: Group, names: Collection[str]
) -> dict[str, list[DueEpisode]]:
    """Return the newest NOTED episodes that were noted for each skill, by when they were closed."""
    keys = {_key(tenant, "signature", name): name for name in sorted(names)}
    rows = await fetch(connection, "fetch_noted_episodes", **_group(group), signatures=list(keys), most=NOTED)
    found: dict[str, list[DueEpisode]] = {name: [] for name in keys.values()}
    for row in rows:
        outcome = Outcome(row["outcome"]) if row["outcome"] is not None else None
        one = DueEpisode(id=row["id"], closed_at=row["closed_at"], outcome=outcome)
        found[keys[bytes(row["signature"])]].append(one)
    return found


async def tool_evidence(
    connection: AsyncConnection, tenant: Tenant, group: Group, tools: Collection[str]
) -> dict[str, dict[UUID, dict[str, Any]]]:
    """Return what each of the newest RUNS runs has shown of each tool, by tool and by run."""
    keys = {_key(tenant, "tool", tool): tool for tool in sorted(tools)}
    rows = await fetch(connection, "fetch_tool_evidence", **_group(group), tools=list(keys), most=RUNS)
    found: dict[str, dict[UUID, dict[str, Any]]] = {tool: {} for tool in keys.values()}
    for row in rows:
        found[keys[bytes(row["tool"])]][row["run"]] = row["evidence"]
    return found


async def store_tool_evidence(
    connection: AsyncConnection, tenant: Tenant, group: Group, run_id: UUID, evidence: Mapping[str, Mapping[str, Any]]
) -> None:
    """Store what a run has shown of tools so far, in place of what was stored of it.

    What was stored of any but the newest KEPT_RUNS runs is deleted.
    """
    tools = sorted(evidence)
    keys = [_key(tenant, "tool", tool) for tool in tools]
    await run(
        connection,
        "store_tool_evidence",
        **_group(group),
        run=run_id,
        tools=keys,
        evidence=[orjson.dumps(evidence[tool]).decode() for tool in tools],
    )
    await run(connection, "trim_tool_evidence", **_group(group), tools=keys, kept=KEPT_RUNS)


async def sources_of(connection: AsyncConnection, tenant: Tenant, procedure: UUID, *, limit: int) -> list[UUID]:
    """Return the newest `limit` records from which a version of a skill or plan was derived."""
    rows = await fetch(connection, "fetch_sources_of_procedure", tenant=tenant.id, id=procedure, limit=limit)
    return [row["source"] for row in rows]


def _group(group: Group) -> dict[str, int]:
    return {"tenant": group.tenant, "scope": group.scope, "sensitivity": int(group.sensitivity)}


def _key(tenant: Tenant, kind: str, name: str) -> bytes:
    return keyed_hash(tenant.index_key, f"learned {kind}", name.encode())
