"""Trims of valid time: which fact ended or began the validity of another early, and undoing that.

Every trim is remembered in `fact_trim`. The trims by a fact pass to the fact that supersedes it, and are undone when it
is retracted, deleted, pruned or erased. A trim changes only `record.validity` and `row_version`; the history keeps the
row as it was. See docs/specification.md, Facts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.changes import Change
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.valid_time import Cut, Interval, Side, restored
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.facts import Fact, FactQuery, compare_facts, lock_current_facts, lock_slots_of


@dataclass(frozen=True, slots=True)
class Trim:
    """The cut of the validity of `fact` by the fact `by`."""

    fact: UUID
    by: UUID
    cut: Cut


@dataclass(slots=True)
class Restored:
    """The facts whose validity was restored, and the changes to append to the feed."""

    ids: list[UUID] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)


async def insert_trims(connection: AsyncConnection, tenant: Tenant, trims: Collection[Trim]) -> None:
    """Remember trims. Both facts of each must have been written."""
    kept: dict[tuple[UUID, UUID, Side], Cut] = {}
    for trim in trims:
        key = (trim.fact, trim.by, trim.cut.side)
        known = kept.get(key, trim.cut)
        tighter = max if trim.cut.side is Side.START else min
        kept[key] = Cut(trim.cut.side, tighter(known.at, trim.cut.at))
    if kept:
        await run(
            connection,
            "insert_trims",
            tenant=tenant.id,
            facts=[fact for fact, _, _ in kept],
            by_facts=[by for _, by, _ in kept],
            sides=[int(side) for _, _, side in kept],
            instants=[cut.at for cut in kept.values()],
        )


async def trimmed_by(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> set[UUID]:
    """Return the current facts that one of `ids` trims. Lock them before an instant is taken to restore them."""
    if not ids:
        return set()
    return {row["fact"] for row in await fetch(connection, "trimmed_by", tenant=tenant.id, ids=list(ids))}


async def take_trims(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> list[Trim]:
    """Delete the trims by `ids`, and return them. Follow with `restore` for the facts that they trimmed."""
    if not ids:
        return []
    rows = await fetch(connection, "take_trims", tenant=tenant.id, ids=list(ids))
    return [Trim(row["fact"], row["by_fact"], Cut(Side(row["side"]), row["at"])) for row in rows]


async def forget_trims(connection: AsyncConnection, tenant: Tenant, trims: Collection[Trim]) -> None:
    """Remove trims from the history of the trimmed facts, since they tell when an erased fact held."""
    if trims:
        await run(
            connection,
            "forget_trims",
            tenant=tenant.id,
            facts=[trim.fact for trim in trims],
            sides=[int(trim.cut.side) for trim in trims],
            instants=[trim.cut.at for trim in trims],
        )


async def settle_trims(
    connection: AsyncConnection,
    directory: Directory,
    tenant: Tenant,
    successors: Mapping[UUID, UUID | None],
    *,
    at: datetime,
) -> Restored:
    """Pass the trims by facts that are no longer current to their successors, or undo them.

    `successors` maps each such fact, already written as superseded or retracted, to the fact that supersedes it, which
    must have been written too; None undoes the trims. A fact that would trim itself is restored.
    """
    trims = await take_trims(connection, tenant, successors)
    passed, undone = [], set()
    for trim in trims:
        by = successors[trim.by]
        if by is None or by == trim.fact:
            undone.add(trim.fact)
        else:
            passed.append(Trim(trim.fact, by, trim.cut))
    await insert_trims(connection, tenant, passed)
    return await restore(connection, directory, tenant, undone, at=at)


async def restore(
    connection: AsyncConnection, directory: Directory, tenant: Tenant, ids: Collection[UUID], *, at: datetime
) -> Restored:
    """Give those of `ids` that are current the validity that they state, as cut by the trims that remain.

    Validity is restored up to the nearest current fact that contradicts the restored one, which then trims it. The
    instant of each write is `at`, or later than the fact's previous write.
    """
    done = Restored()
    if not ids:
        return done
    slots = await lock_slots_of(connection, tenant, ids)
    facts = await lock_current_facts(connection, tenant, ids)
    remaining: dict[UUID, list[Cut]] = {id_: [] for id_ in facts}
    for row in await fetch(connection, "trims_of", tenant=tenant.id, ids=list(facts)):
        remaining[row["fact"]].append(Cut(Side(row["side"]), row["at"]))
    for fact in facts.values():
        if fact.stated.cut(remaining[fact.id]) == fact.interval:
            continue
        neighbours = await _neighbours(connection, tenant, fact, remaining[fact.id], slots[fact.slot])
        interval, cuts = restored(fact.stated, fact.interval, remaining[fact.id], neighbours)
        if interval == fact.interval:
            continue
        edit = Edit(id=fact.id, validity=str(interval), is_revision=False)
        instant = max(at, fact.updated_at + RESOLUTION) if fact.updated_at >= at else at
        done.changes += await update_records(connection, directory, tenant, [edit], at=instant)
        done.ids.append(fact.id)
        await insert_trims(connection, tenant, [Trim(fact.id, by, cut) for by, cut in cuts.items()])
    return done


async def _neighbours(
    connection: AsyncConnection, tenant: Tenant, fact: Fact, remaining: Sequence[Cut], is_single_valued: bool
) -> dict[UUID, Interval]:
    """Return the intervals of the current facts that contradict `fact` in the time that it may be restored to."""
    query = FactQuery(
        slot=fact.slot,
        fact_key=fact.fact_key,
        conditions=fact.conditions,
        interval=fact.stated.cut(remaining) if is_single_valued else None,
        single_valued=is_single_valued,
    )
    compared = (await compare_facts(connection, tenant, [query], limit=None))[0]
    return {one.id: one.interval for one in compared.contradicted}
