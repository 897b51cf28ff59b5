"""The closure of an erasure: the records to erase, and all others that must be erased with them.

With a record, those derived from it alone are erased, through any number of steps, and the evidence that was captured
against it; with an episode, its members; with the last record that names an entity, the entity that was created for it.
What was learned from an episode may repeat any of its members, so the episode does not support it once a member is
erased.
Records beyond the caller's access are never among them. See docs/specification.md, Forgetting and erasing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.erasure.learned import LearnedFromRemoved
from stratagraph.store.erasure.traces import find_traces
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.enums import COUNTER_EVIDENCE
from stratagraph.store.model.predicates import DERIVATIONS
from stratagraph.store.model.trust import LEARNED_BY
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.support import references

NOTHING_LEARNED = LearnedFromRemoved()
_CAPTURE_REF = re.compile(r"candidate:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class ErasureClosure:
    """The records that an erasure deletes, and those that it must re-evaluate.

    `ids` are the records to erase; `survivors` were derived from some of them and are kept, because they have other
    support or are beyond the caller's access. `weakened` are those survivors that were learned from episodes which lose
    members: these episodes do not support them any more.
    """

    ids: frozenset[UUID]
    survivors: frozenset[UUID]
    weakened: frozenset[UUID]


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureAccess:
    """The records that a caller may erase: those of `scopes`, by number, up to `ceiling`; None means all scopes."""

    scopes: tuple[int, ...] | None
    ceiling: int


async def erasure_closure(
    connection: AsyncConnection,
    tenant: Tenant,
    seeds: Collection[UUID],
    access: ErasureAccess,
    *,
    whole: bool,
    removed: Collection[UUID] = (),
    learned_from_removed_records: LearnedFromRemoved = NOTHING_LEARNED,
) -> ErasureClosure:
    """Return all records that must be erased with `seeds`, `seeds` included, and the derived ones that are kept.

    `removed` are records that were removed before and are erased with them: an entity that only they named goes too.
    `learned_from_removed_records` is what was learned from removed records, to which no relation leads any more.

    With `whole`, the members of an erased episode are erased too, and an episode whose members are all erased.
    """
    ids = set(seeds)
    kept = set[UUID]()  # derived from erased records alone, but beyond the caller's access
    while True:
        before = len(ids), len(kept)
        found = set[UUID]()
        if whole:
            found |= await _fetch_ids(connection, "fetch_episode_members", tenant, ids)
            found |= await _fetch_ids(connection, "fetch_emptied_episodes", tenant, ids)
        unsupported, survivors, weakened = await _derived(connection, tenant, ids, kept, learned_from_removed_records)
        found |= unsupported | await _orphaned_entities(connection, tenant, ids | set(removed))
        found |= await _counter_evidence(connection, tenant, ids)
        within = await _within(connection, tenant, found - ids, access)
        kept |= unsupported - ids - within
        ids |= within
        if (len(ids), len(kept)) == before:
            return ErasureClosure(frozenset(ids), survivors, weakened)


async def _within(
    connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID], access: ErasureAccess
) -> set[UUID]:
    """Return those of `ids` that the caller may erase."""
    if not ids:
        return set()
    rows = await fetch(
        connection,
        "fetch_records_within",
        tenant=tenant.id,
        ids=list(ids),
        all_scopes=access.scopes is None,
        scopes=list(access.scopes or ()),
        ceiling=access.ceiling,
    )
    return {row["id"] for row in rows}


async def _counter_evidence(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> set[UUID]:
    """Return the events that hold nothing but evidence against one of `ids`, captured to contest it."""
    rows = await fetch(connection, "fetch_contesting_events", tenant=tenant.id, ids=list(ids))
    contents = await open_contents(tenant.keyring, rows)
    return {
        row["id"]
        for row, content in zip(rows, contents, strict=True)
        if is_counter_evidence(row["payload"] if content is None else content["payload"], row["contested"])
    }


def is_counter_evidence(payload: Mapping[str, Any] | None, contested: UUID) -> bool:
    """Return whether the payload of an event is evidence against the record `contested`."""
    timeline = (payload or {}).get("timeline") or ()
    return bool(timeline) and all(
        entry.get("event_kind") == COUNTER_EVIDENCE and entry.get("ref") == str(contested) for entry in timeline
    )


async def related_records(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> set[UUID]:
    """Return the ids of other records that may repeat content of `ids`.

    They are those with a relation to one of `ids`, and the entities that the captures of `ids` created.
    """
    return await _fetch_ids(connection, "fetch_related_records", tenant, ids)


async def _fetch_ids(connection: AsyncConnection, statement: str, tenant: Tenant, ids: Collection[UUID]) -> set[UUID]:
    return {row["id"] for row in await fetch(connection, statement, tenant=tenant.id, ids=list(ids))}


async def _derived(
    connection: AsyncConnection,
    tenant: Tenant,
    ids: Collection[UUID],
    kept: Collection[UUID],
    learned_from_removed_records: LearnedFromRemoved,
) -> tuple[set[UUID], frozenset[UUID], frozenset[UUID]]:
    """Return the records that rest on nothing but `ids`, and those that have other support or are among `kept`.

    Records that support only each other have no support. An episode that has a member among `ids` does not support
    what was learned from it; the third value has those of the second that were learned from one.
    """
    sources_of: dict[UUID, set[UUID | str]] = {}
    learned = set[UUID]()
    unsupporting_episodes = await _fetch_ids(connection, "fetch_episodes_of_members", tenant, ids)
    unsupporting_episodes |= learned_from_removed_records.sources
    frontier = set(ids) | unsupporting_episodes
    derivations = sorted(DERIVATIONS)
    learned_ids = list(learned_from_removed_records.records - set(ids))
    more = (
        await fetch(connection, "fetch_learned_records", tenant=tenant.id, ids=learned_ids, derivations=derivations)
        if learned_ids
        else []
    )
    while frontier:
        rows = await fetch(
            connection,
            "fetch_derived_records",
            tenant=tenant.id,
            ids=list(frontier),
            known=[*ids, *unsupporting_episodes, *sources_of],
            derivations=derivations,
        )
        rows, more = [*rows, *more], []
        for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True):
            provenance = row["provenance"] if content is None else content["provenance"]
            sources_of[row["id"]] = (references(provenance) | set(row["sources"])) - {row["id"]}
            if str((provenance or {}).get("created_by")).startswith(LEARNED_BY):
                learned.add(row["id"])
        frontier = {row["id"] for row in rows}
    sources = {source for of_one in sources_of.values() for source in of_one if isinstance(source, UUID)}
    invalid = set(ids)
    if sources_of:
        invalid |= await _fetch_ids(connection, "fetch_deleted_sources", tenant, sources)
    supported = sources_of.keys() & kept
    while True:
        added = {
            id_
            for id_, of_one in sources_of.items()
            if id_ not in supported
            and any(
                source not in invalid
                and (id_ not in learned or source not in unsupporting_episodes)
                and (source not in sources_of or source in supported)
                for source in of_one
            )
        }
        if not added:
            weakened = {id_ for id_ in supported & learned if not unsupporting_episodes.isdisjoint(sources_of[id_])}
            return sources_of.keys() - supported, frozenset(supported), frozenset(weakened)
        supported |= added


async def _orphaned_entities(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> set[UUID]:
    """Return the entities that no record besides `ids` names, and whose sources are all erased or deleted already."""
    rows = await fetch(connection, "fetch_orphaned_entities", tenant=tenant.id, ids=list(ids))
    if not rows:
        return set()
    traces = await find_traces(connection, tenant, ids)
    refs_of = {
        row["id"]: _source_refs(row["provenance"] if content is None else content["provenance"])
        for row, content in zip(rows, await open_contents(tenant.keyring, rows), strict=True)
    }
    captures = {ref for refs in refs_of.values() for ref in refs if _CAPTURE_REF.fullmatch(ref)}
    remaining = await fetch(
        connection,
        "fetch_remaining_captures",
        tenant=tenant.id,
        captures=[UUID(ref.removeprefix("candidate:")) for ref in captures],
        ids=list(ids),
    )
    deleted = captures - {f"candidate:{row['id']}" for row in remaining}
    return {
        row["id"]
        for row in rows
        if row["is_created"] or all(ref in deleted or traces.names(ref) for ref in refs_of[row["id"]])
    }


def _source_refs(provenance: Mapping[str, Any] | None) -> list[str]:
    return [source["ref"] for source in (provenance or {}).get("sources", ())]
