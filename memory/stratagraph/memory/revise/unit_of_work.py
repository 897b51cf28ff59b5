"""The transaction of one revision: the records it may change, its locks, and its changes so far."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from stratagraph.memory.capture.attachments import attach
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.new_records import ids_with_record_sources, insert_write_set
from stratagraph.memory.capture.teaching import finish_names
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.propagation.reevaluation import derived_records, reevaluate
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.requests.retrying import StaleRead
from stratagraph.memory.requests.warnings import RequestWarning
from stratagraph.memory.revise.noting import about_revision
from stratagraph.memory.revise.withdrawal import withdraw
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.changes import Change
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.clock import RESOLUTION, rfc3339
from stratagraph.store.model.enums import AuditAction, MemoryType, RecordState, Sensitivity
from stratagraph.store.model.errors import EpisodicImmutable, Forbidden, RecordNotFound, VersionConflict
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import UNSCOPED, Visibility
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.editing import Edit, update_records
from stratagraph.store.records.facts import lock_slots_of
from stratagraph.store.records.inserting import NewRelation, insert_relations, relation_changes
from stratagraph.store.records.locking import LockedRecord, lock_records
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import disputes_of, end_relations
from stratagraph.store.records.tombstones import find_tombstones
from stratagraph.store.records.trims import Restored, settle_trims, trimmed_by

CURRENT = (RecordState.ACTIVE, RecordState.CONTESTED)  # the states of records that can be revised


@dataclass(slots=True)
class UnitOfWork:
    """The transaction of one revision.

    `at` is the instant of all its writes, later than the previous write of every record it locks. `changes`, `touched`
    and `edges` collect the changes for the feed, the ids of changed records, and the new relations.
    """

    connection: Connection
    directory: Directory
    caller: Caller
    at: datetime
    rationale: str
    changes: list[Change] = field(default_factory=list)
    touched: list[UUID] = field(default_factory=list)
    edges: list[NewRelation] = field(default_factory=list)
    queued: int = 0
    doubtful: set[UUID] = field(default_factory=set)  # records to re-evaluate at the end,
    causes: set[UUID] = field(default_factory=set)  # and records whose dependents to re-evaluate
    known: dict[UUID, MemoryRecord] = field(default_factory=dict)  # records as they were before this revision
    successors: dict[UUID, UUID | None] = field(default_factory=dict)  # records withdrawn, and those that replace them
    effects: dict[tuple[UUID, Effect], None] = field(default_factory=dict)  # on stored records, for the receipt
    warnings: list[RequestWarning] = field(default_factory=list)  # for the receipt

    async def targets(self, ids: Sequence[UUID], *, path: list[str]) -> list[MemoryRecord]:
        """Return the records to be revised, in the order of `ids`. `path` is the argument that an error names.

        Raises RecordNotFound for a record not visible to the caller, and Forbidden for one that the caller sees
        redacted or may not write.
        """
        found = await Reader(self.connection, self.directory, self.caller, self.at).records(ids)
        for id_ in ids:
            record = found.get(id_)
            if record is None:
                raise await self._not_found(id_, path)
            if record.redacted:
                raise Forbidden(
                    f"{path[0]}: record {id_} is above the credential's ceiling ({self.caller.trust.ceiling.label});"
                    " use a credential with a higher one",
                    path=path,
                )
            self._check_writable(record, path)
        self.known |= found
        return [found[id_] for id_ in ids]

    async def _not_found(self, id_: UUID, path: list[str]) -> RecordNotFound:
        """Return the error for a record that does not exist; it says so if the record was removed, to who could see it.

        Another caller may have removed the record after this one had read it.
        """
        tombstone = (await find_tombstones(self.connection, self.caller.tenant, [id_])).get(id_)
        if tombstone is None:
            return RecordNotFound(id_, path=path)
        scope = (await self.directory.scope_names([tombstone.scope]))[tombstone.scope]
        if self.caller.trust.visibility(scope=scope, sensitivity=tombstone.sensitivity) is not Visibility.FULL:
            return RecordNotFound(id_, path=path)
        return RecordNotFound(
            id_,
            f"{path[0]}: record {id_} was {tombstone.cause.label} at {rfc3339(tombstone.at)}, so nothing was changed;"
            " `auditLog` shows its log",
            path=path,
        )

    def _check_writable(self, record: MemoryRecord, path: list[str]) -> None:
        scopes = self.caller.trust.scopes
        if scopes is not None and record.scope not in scopes:
            where = "unscoped" if record.scope == UNSCOPED else f"in the scope {record.scope!r}"
            raise Forbidden(
                f"{path[0]}: record {record.id} is {where}, which this credential may only read; use one that may write"
                " there",
                path=path,
            )

    async def lock(
        self, ids: Collection[UUID], *, with_derived: bool = True, displaced: Collection[UUID] = ()
    ) -> dict[UUID, LockedRecord]:
        """Lock records and, with `with_derived`, the records derived from them; then set the instant of this revision.

        The other parties of their disputes are locked with them. With the records derived from facts, the slots of
        these facts are locked, before everything else, and the facts that they trim. `displaced` are records that are
        locked already, whose derived records are locked too. Raises StaleRead if one of `ids` has been changed or
        deleted since `targets` read it.
        """
        facts = [id_ for id_ in ids if with_derived and self.known[id_].type is MemoryType.SEMANTIC]
        trimmed = set[UUID]()
        if facts:
            await lock_slots_of(self.connection, self.caller.tenant, facts)
            trimmed = await trimmed_by(self.connection, self.caller.tenant, facts)
        disputed = [id_ for id_ in ids if self.known[id_].state is RecordState.CONTESTED]
        disputes = await disputes_of(self.connection, self.caller.tenant, disputed) if disputed else []
        parties = {end for dispute in disputes for end in (dispute.contested, dispute.by)}
        derived = (
            await derived_records(self.connection, self.caller, {*ids, *parties, *displaced}) if with_derived else []
        )
        rows = await lock_records(self.connection, self.caller.tenant, {*ids, *parties, *derived, *trimmed})
        self.after(*(row.updated_at for row in rows.values()))
        if any(id_ not in rows or rows[id_].updated_at != self.known[id_].updated_at for id_ in ids):
            raise StaleRead
        return {id_: rows[id_] for id_ in ids}

    def after(self, *seen: datetime) -> None:
        """Make the instant of this revision later than the given instants of earlier writes.

        As-of reads rely on it: of two writes to one record, the later one has the later instant.
        """
        self.at = max([self.at, *(instant + RESOLUTION for instant in seen)])

    async def set_state(self, ids: Collection[UUID], state: RecordState, *, action: AuditAction) -> None:
        """Set the state of locked records, with an audit entry for each. To withdraw records, use `replace`."""
        ordered = sorted(ids)
        edits = [Edit(id=id_, state=int(state)) for id_ in ordered]
        self.changes += await update_records(self.connection, self.directory, self.caller.tenant, edits, at=self.at)
        await self.audit([AuditEvent(record=id_, action=action, rationale=self.rationale) for id_ in ordered])
        self.touched += ordered
        for id_ in ordered:
            self.note_change(id_, Effect.CONTESTED if state is RecordState.CONTESTED else Effect.REVISED)

    def note_change(self, record: UUID, effect: Effect) -> None:
        """Note for the receipt what this revision did to a stored record."""
        self.effects[record, effect] = None

    async def replace(
        self, ids: Collection[UUID], state: RecordState, *, by: UUID | None = None, keep_disputes: bool = False
    ) -> None:
        """Set locked records to `state`, SUPERSEDED or RETRACTED, and end their open disputes unless `keep_disputes`.

        `by` is the record that supersedes them.
        """
        if not keep_disputes:
            await self.end_disputes(ids)
        self.changes += await withdraw(
            self.connection,
            self.directory,
            self.caller,
            ids,
            state,
            rationale=self.rationale,
            at=self.at,
            by=by,
            sensitivity=self._about,
        )
        self.touched += sorted(ids)
        self.successors |= dict.fromkeys(ids, by)
        for id_ in sorted(ids):
            self.note_change(id_, Effect.SUPERSEDED if state is RecordState.SUPERSEDED else Effect.REVISED)

    async def end_disputes(self, ids: Collection[UUID]) -> None:
        """End the open disputes of `ids`, and mark both parties of each for re-evaluation at the end."""
        disputes = await disputes_of(self.connection, self.caller.tenant, ids)
        self.changes += await end_relations(
            self.connection, self.caller.tenant, [dispute.relation for dispute in disputes], at=self.at
        )
        self.doubtful |= {end for dispute in disputes for end in (dispute.contested, dispute.by)}

    async def relate(self, relations: Sequence[NewRelation]) -> None:
        """Write relations; relations that exist already are not changed."""
        written = await insert_relations(self.connection, self.directory, self.caller.tenant, relations, at=self.at)
        self.changes += relation_changes(written)
        self.edges += written

    async def audit(self, events: Sequence[AuditEvent]) -> None:
        """Write audit entries with the actor and the instant of this revision."""
        about = self._about
        await write_audit(
            self.connection,
            self.caller.tenant,
            [replace(event, sensitivity=about) for event in events],
            actor=self.caller.trust.actor,
            at=self.at,
        )

    @property
    def _about(self) -> Sensitivity | None:
        """The sensitivity of the most sensitive record that the rationale is about; None if all have the same.

        Who may read the less sensitive ones only must not read the rationale on their entries.
        """
        levels = {record.sensitivity for record in self.known.values()}
        return max(levels) if len(levels) > 1 else None

    async def settle(self) -> None:
        """Settle the trims by withdrawn facts; re-evaluate the doubtful records and those that rest on changed ones.

        Call it once, at the end.
        """
        self.note_restored(
            await settle_trims(self.connection, self.directory, self.caller.tenant, self.successors, at=self.at)
        )
        if not self.doubtful and not self.causes:
            return
        done = await reevaluate(
            self.connection,
            self.directory,
            self.caller,
            doubtful=self.doubtful,
            causes=self.causes,
            actor=self.caller.trust.actor,
            at=self.at,
        )
        self.changes += done.changes
        self.touched += sorted(done.states)
        self.queued += done.queued
        for id_, state in sorted(done.states.items()):
            self.note_change(id_, Effect.CONTESTED if state is RecordState.CONTESTED else Effect.REVISED)

    def note_restored(self, done: Restored) -> None:
        """Add the facts whose validity was restored to the changes of this revision."""
        self.changes += done.changes
        self.touched += done.ids
        for id_ in done.ids:
            self.note_change(id_, Effect.TRIMMED)

    async def writes(self, draft: Draft) -> WriteSet:
        """Return a write set for the draft, as a capture would write it, in this transaction."""
        names = {UNSCOPED, draft.scope}
        scopes = await self.directory.scopes(self.caller.tenant, names, create=True)
        return WriteSet(self.connection, self.directory, self.caller, [draft], scopes, self.at, author="revision")

    async def write(self, writes: WriteSet) -> None:
        """Write a write set, link the artifacts that its drafts name, and add its changes to this revision."""
        await insert_write_set(writes)
        await finish_names(writes)
        if any(draft.artifacts for draft in writes.drafts):
            current = {draft.position: writes.primaries.get(draft.position, draft.id) for draft in writes.drafts}
            records = await Reader(self.connection, self.directory, self.caller, writes.at).records(current.values())
            await attach(writes, {position: records[id_] for position, id_ in current.items()})
        for draft in writes.drafts:
            self.warnings += about_revision(writes.warnings.get(draft.position, ()), draft, self.known.values())
        self.changes += writes.changes
        self.causes |= writes.withdrawn | writes.causes
        for effects in writes.effects.values():
            self.effects |= effects
            self.touched += [id_ for id_, _ in effects]
        self.doubtful |= writes.doubtful | ids_with_record_sources(writes.records)
        self.touched += [record.id for _, record in writes.records]
        self.edges += [relation for _, relation in writes.relations]


def refuse_episodes(records: Sequence[MemoryRecord]) -> None:
    """Raise EpisodicImmutable if one of the records is an episode."""
    for record in records:
        if record.type is MemoryType.EPISODIC:
            raise EpisodicImmutable(
                f"Record {record.id} is an episode, and episodes are never changed. Revise the records learned from it,"
                " or erase it.",
                path=["recordId"],
            )


def require_version(row: LockedRecord, expected: int | None) -> None:
    """Raise VersionConflict if the record's version is not `expected`; None stands for any version."""
    if expected is not None and row.version != expected:
        raise VersionConflict(
            row.version,
            f"expectedVersion: record {row.id} is at version {row.version}, not {expected}; it has changed since it was"
            " read. Read it again, and repeat the change with the new version.",
            path=["expectedVersion"],
        )


def require_current(rows: Mapping[UUID, LockedRecord]) -> None:
    """Raise VersionConflict if one of the records is superseded or retracted.

    Otherwise two corrections of one record could both be in force.
    """
    for row in rows.values():
        if row.state not in CURRENT:
            raise VersionConflict(
                row.version,
                f"Record {row.id} is already {row.state.label} (its version is now {row.version}). Read it again, and"
                " revise the record that replaced it.",
            )
