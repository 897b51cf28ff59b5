"""Facts after a merge of entities is undone: facts that had become one come apart, and disputes of the merge end.

The facts already have their own keys again. What was captured since the merge stays with the surviving entity: it
neither supersedes, contests nor trims the facts of the other one any more, nor those of the surviving entity where it
did so only because the merge had made their slot single-valued.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import orjson

from stratagraph.memory.revise.later_evidence import give_to_survivor
from stratagraph.memory.revise.reopened_slots import ReopenedSlots
from stratagraph.memory.revise.repointing import relate
from stratagraph.memory.revise.unit_of_work import CURRENT, UnitOfWork
from stratagraph.store.audit.events import AuditEvent
from stratagraph.store.model.enums import AuditAction, RecordState
from stratagraph.store.postgres.database import elevated
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.inserting import NewRelation, latest_evidence
from stratagraph.store.records.keyed_facts import set_evidence_times
from stratagraph.store.records.merges import (
    Content,
    Crossing,
    EntityMerge,
    MergedRecord,
    delete_crossing_trims,
    fetch_versions,
    find_ended_disputes,
    find_supersessions,
    row_versions,
)
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import end_relations
from stratagraph.store.records.salience_rows import write_salience
from stratagraph.store.records.trims import restore


@dataclass(slots=True)
class _Fact:
    """A fact that the merge or a capture since has changed: its contents before and after the merge, and now."""

    entry: MergedRecord
    before: Content
    after: Content
    current: Content

    @property
    def is_duplicate(self) -> bool:
        """Whether the merge kept an equal fact instead of this one."""
        return self.before.state in CURRENT and self.after.state is RecordState.SUPERSEDED

    @property
    def superseded_by(self) -> UUID | None:
        """The equal fact that the merge kept instead of this one; None also where it has been erased since."""
        by = (self.after.payload.get("revision") or {}).get("superseded_by") if self.is_duplicate else None
        return None if by is None else UUID(by)

    @property
    def later_sources(self) -> list[dict[str, Any]]:
        """The sources that were added since the merge."""
        known = {source["ref"] for source in self.after.provenance.get("sources", ())}
        return [source for source in self.current.provenance.get("sources", ()) if source["ref"] not in known]


async def restore_facts(
    work: UnitOfWork,
    merge: EntityMerge,
    entries: Sequence[MergedRecord],
    crossings: Sequence[Crossing],
    reopened: ReopenedSlots,
) -> None:
    """Undo what the merge changed in the contents and states of facts, and what has crossed between the two since.

    And what was displaced in the slots that take several values again.

    `entries` are the facts of the merge; those that are not `is_own` belong to the survivor. All are locked.
    """
    facts = await _read(work, entries, crossings)
    duplicates = {id_: fact.superseded_by for id_, fact in facts.items() if fact.superseded_by is not None}
    heirs = await _separate_sources(work, merge, facts, duplicates, reopened)
    await _inherit_disputes(work, heirs, crossings)
    open_ = await reopened.facts_among(work, duplicates)
    revived = [
        id_
        for id_, kept in duplicates.items()
        if await _is_revived(work, facts, id_, kept, crossings, is_open=id_ in open_)
    ]
    revived += await _end_crossings(work, facts, crossings)
    revived += await _end_displacements(work, reopened)
    revived += await _end_supersessions(work, merge, facts)
    revived += [id_ for id_, fact in facts.items() if fact.is_duplicate and fact.superseded_by is None]
    revived = await _revive(work, facts, list(dict.fromkeys(revived)), reopened)
    again = await find_ended_disputes(work.connection, work.caller.tenant, merge.entity, revived)
    await relate(work, again)
    work.doubtful |= {end for dispute in again for end in (dispute.source, dispute.target)}
    work.doubtful |= {id_ for id_, fact in facts.items() if fact.current.state in CURRENT}
    own = [entry.id for entry in entries if entry.is_subject]
    trimmed = await delete_crossing_trims(work.connection, work.caller.tenant, own)
    trimmed |= await reopened.take_trims(work)
    work.note_restored(await restore(work.connection, work.directory, work.caller.tenant, trimmed, at=work.at))


async def restore_salience(work: UnitOfWork, entries: Sequence[MergedRecord]) -> None:
    """Give records the salience that they had before the merge."""
    unrestricted = work.caller.unrestricted()
    async with elevated(work.connection, unrestricted.bounds):
        records = await Reader(work.connection, work.directory, unrestricted, work.at).records(
            [entry.id for entry in entries]
        )
    restored = {
        entry.id: replace(
            lifecycle, s=entry.s, t0=entry.t0, last_reinforced_at=entry.last_reinforced_at, is_withdrawn=False
        )
        for entry in entries
        if (lifecycle := records[entry.id].lifecycle) is not None
    }
    await write_salience(work.connection, work.caller.tenant, list(restored.items()))
    # A reader of the past computes the salience from the last event that has one.
    await work.audit(
        [
            AuditEvent(
                record=id_,
                action=AuditAction.REVISE,
                rationale="its salience is what it was before the merge",
                salience=lifecycle.at(work.at),
            )
            for id_, lifecycle in restored.items()
        ]
    )


async def _read(work: UnitOfWork, entries: Sequence[MergedRecord], crossings: Sequence[Crossing]) -> dict[UUID, _Fact]:
    """Return the facts that the merge changed, and those that something crosses, with their contents."""
    crossed = {crossing.own for crossing in crossings}
    connection, tenant = work.connection, work.caller.tenant
    found = await row_versions(connection, tenant, [entry.id for entry in entries])
    wanted = {
        entry.id: entry
        for entry in entries
        if entry.id in found
        and (entry.after != entry.before or entry.id in crossed or found[entry.id].row_version != entry.after)
    }
    versions = {id_: found[id_].row_version for id_ in wanted}
    before = await fetch_versions(connection, tenant, {id_: entry.before for id_, entry in wanted.items()})
    after = await fetch_versions(connection, tenant, {id_: entry.after for id_, entry in wanted.items()})
    current = await fetch_versions(connection, tenant, versions)
    facts = {}
    for id_, now in current.items():
        entry = wanted[id_]
        # An erasure rewrites what names the erased record, and deletes former versions. What the merge changed was
        # current before.
        was = now if entry.before == entry.after else replace(now, state=RecordState.ACTIVE)
        facts[id_] = _Fact(entry, before.get(id_, was), after.get(id_, now), now)
    return facts


async def _separate_sources(
    work: UnitOfWork,
    merge: EntityMerge,
    facts: Mapping[UUID, _Fact],
    duplicates: Mapping[UUID, UUID],
    reopened: ReopenedSlots,
) -> dict[UUID, UUID]:
    """Take from each kept fact the sources of its duplicates; evidence captured since goes to the survivor's fact.

    Where the survivor has no such fact, it gets one, unless the fact with the evidence is withdrawn; but that it was
    displaced in a slot that takes several values again does not count. Returns the survivor's new facts, by the fact
    whose later sources they have.
    """
    heirs = {
        kept: id_
        for id_, kept in duplicates.items()
        if kept in facts and facts[kept].entry.is_own and not facts[id_].entry.is_own
    }
    orphaned: dict[UUID, list[dict[str, Any]]] = {}
    for id_, fact in facts.items():
        later = fact.later_sources
        is_kept = id_ in duplicates.values()
        if not is_kept and not (later and fact.entry.is_subject):
            continue
        sources = list((fact.before if is_kept else fact.after).provenance.get("sources", ()))
        if not fact.entry.is_subject and id_ not in heirs:
            sources += later
        elif id_ in heirs:
            heir = facts[heirs[id_]]
            if later:
                await _write_sources(work, heirs[id_], heir, [*heir.current.provenance.get("sources", ()), *later])
        elif later and fact.current.state in (*CURRENT, RecordState.SUPERSEDED):
            orphaned[id_] = later
        await _write_sources(work, id_, fact, sources)
    superseded = {id_ for id_ in orphaned if facts[id_].current.state is RecordState.SUPERSEDED}
    for id_ in superseded - await reopened.unsaid(work, superseded, merge):
        del orphaned[id_]
    return await give_to_survivor(work, orphaned, entity=merge.entity, survivor=merge.survivor)


async def _inherit_disputes(work: UnitOfWork, heirs: Mapping[UUID, UUID], crossings: Sequence[Crossing]) -> None:
    """Put the survivor's facts in the disputes since the merge of the facts for which they stand."""
    await relate(
        work,
        [
            NewRelation(
                source=heirs[crossing.own] if crossing.is_from_own else crossing.other,
                target=crossing.other if crossing.is_from_own else heirs[crossing.own],
                predicate="contested_by",
                weight=1.0,
            )
            for crossing in crossings
            if crossing.predicate == "contested_by" and crossing.own in heirs
        ],
    )


async def _write_sources(work: UnitOfWork, id_: UUID, fact: _Fact, sources: Sequence[dict[str, Any]]) -> None:
    provenance = {**fact.current.provenance, "sources": list(sources)}
    edit = Edit(id=id_, provenance=orjson.dumps(provenance).decode(), is_revision=False)
    work.changes += await update_records(work.connection, work.directory, work.caller.tenant, [edit], at=work.at)
    latest = latest_evidence(provenance, fact.current.occurred_at)
    await set_evidence_times(work.connection, work.caller.tenant, {id_: latest})
    work.touched.append(id_)


async def _is_revived(
    work: UnitOfWork,
    facts: Mapping[UUID, _Fact],
    id_: UUID,
    kept: UUID,
    crossings: Sequence[Crossing],
    *,
    is_open: bool,
) -> bool:
    """Return whether a duplicate becomes current again; False if it shares the fate of the fact that was kept.

    A survivor's duplicate was represented by the other entity's fact: what superseded, retracted or contested that fact
    since the merge did so to the duplicate; but nothing superseded it if its slot `is_open` to several values again.
    """
    fact, keeper = facts[id_], facts.get(kept)
    if fact.current.state is not RecordState.SUPERSEDED:
        return False
    if keeper is None or not keeper.entry.is_own or fact.entry.is_own:
        return True
    theirs = [crossing for crossing in crossings if crossing.own == kept]
    if keeper.current.state in CURRENT:
        await _inherit_disputes(work, {kept: id_}, theirs)
        return True
    by = [crossing.other for crossing in theirs if crossing.predicate == "supersedes" and not crossing.is_from_own]
    if by and is_open:
        return True
    if by:
        revision = {**_revision(fact.before), "superseded_by": str(by[0])}
        await _edit(work, id_, fact, revision, state=None)
        await relate(work, [NewRelation(source=one, target=id_, predicate="supersedes", weight=1.0) for one in by])
    else:
        await _edit(work, id_, fact, _revision(fact.before), state=keeper.current.state)
    return False


async def _end_crossings(work: UnitOfWork, facts: Mapping[UUID, _Fact], crossings: Sequence[Crossing]) -> list[UUID]:
    """End the disputes and supersessions between the two entities' facts since the merge.

    Returns the facts that become current again, if they are superseded: those of the entity, and those of the survivor
    that were stored as superseded by these.
    """
    ended = [crossing.id for crossing in crossings]
    work.changes += await end_relations(work.connection, work.caller.tenant, ended, at=work.at)
    work.doubtful |= {end for crossing in crossings for end in (crossing.own, crossing.other)}
    superseded = [crossing for crossing in crossings if crossing.predicate == "supersedes"]
    return [one.other if one.is_from_own else one.own for one in superseded if one.is_from_own or one.own in facts]


async def _end_displacements(work: UnitOfWork, reopened: ReopenedSlots) -> list[UUID]:
    """End the disputes and supersessions in slots that take several values again; return the superseded facts."""
    ended = [one.id for one in reopened.displacements]
    work.changes += await end_relations(work.connection, work.caller.tenant, ended, at=work.at)
    work.doubtful |= reopened.facts
    return [one.target for one in reopened.displacements if one.predicate == "supersedes"]


async def _end_supersessions(work: UnitOfWork, merge: EntityMerge, facts: Mapping[UUID, _Fact]) -> list[UUID]:
    """End the supersessions of the entity's facts by what was captured since, which was not about the entity.

    Returns these facts. A capture may have superseded one by another fact of the entity, to which it added evidence, or
    may have been deleted since.
    """
    ids = [
        id_
        for id_, fact in facts.items()
        if fact.entry.is_subject
        and not fact.entry.is_decided
        and fact.before.state in CURRENT
        and fact.after.state in CURRENT
        and fact.current.state is RecordState.SUPERSEDED
    ]
    ended = await find_supersessions(work.connection, work.caller.tenant, merge.entity, ids)
    work.changes += await end_relations(work.connection, work.caller.tenant, ended, at=work.at)
    return ids


async def _revive(
    work: UnitOfWork, facts: Mapping[UUID, _Fact], ids: Sequence[UUID], reopened: ReopenedSlots
) -> list[UUID]:
    """Make superseded facts current again: contested, which the re-evaluation at the end makes active where it may.

    Those that were not current before the merge go back to the state that they had. One for which an equal fact stands
    in a reopened slot stays superseded, by that one. Returns those that are not superseded any more.
    """
    known = {**facts, **await _late_facts(work, set(ids) - facts.keys())}
    superseded = [id_ for id_ in ids if known[id_].current.state is RecordState.SUPERSEDED]
    represented = await reopened.represented(work, await reopened.facts_among(work, superseded))
    for id_ in superseded:
        fact = known[id_]
        was_current = fact.before.state in CURRENT
        revision = _revision(fact.before if was_current else fact.after)
        if id_ in represented:
            await _edit(work, id_, fact, {**revision, "superseded_by": str(represented[id_])}, state=None)
        else:
            state = RecordState.CONTESTED if was_current else fact.before.state
            await _edit(work, id_, fact, revision, state=state)
    await relate(
        work,
        [
            NewRelation(source=other, target=id_, predicate="supersedes", weight=1.0)
            for id_, other in represented.items()
        ],
    )
    revived = [id_ for id_ in superseded if id_ not in represented]
    await restore_salience(work, [known[id_].entry for id_ in revived])
    work.doubtful |= set(revived)
    return revived


async def _late_facts(work: UnitOfWork, ids: Collection[UUID]) -> dict[UUID, _Fact]:
    """Return facts that the merge did not change, as if they had been current before; their salience begins anew."""
    connection, tenant = work.connection, work.caller.tenant
    found = await row_versions(connection, tenant, ids)
    contents = await fetch_versions(connection, tenant, {id_: one.row_version for id_, one in found.items()})
    return {
        id_: _Fact(
            MergedRecord(
                id=id_,
                is_subject=False,
                is_object=False,
                before=found[id_].row_version,
                after=found[id_].row_version,
                s=1.0,
                t0=found[id_].t0,
                last_reinforced_at=found[id_].last_reinforced_at,
            ),
            before=replace(content, state=RecordState.ACTIVE),
            after=content,
            current=content,
        )
        for id_, content in contents.items()
    }


def _revision(content: Content) -> dict[str, Any]:
    """Return what a fact's payload says of its revisions, without the fact that superseded it."""
    revision = content.payload.get("revision") or {}
    return {name: value for name, value in revision.items() if name not in ("superseded_by", "status")}


async def _edit(
    work: UnitOfWork, id_: UUID, fact: _Fact, revision: Mapping[str, Any], *, state: RecordState | None
) -> None:
    payload = {name: value for name, value in fact.current.payload.items() if name != "revision"}
    if revision:
        payload["revision"] = dict(revision)
    edit = Edit(id=id_, state=None if state is None else int(state), payload=orjson.dumps(payload).decode())
    work.changes += await update_records(work.connection, work.directory, work.caller.tenant, [edit], at=work.at)
    await work.audit([AuditEvent(record=id_, action=AuditAction.REVISE, rationale=work.rationale)])
    work.touched.append(id_)
