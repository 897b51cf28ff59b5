"""One revision under way: what it may touch, what it has locked, what it has changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from stratagraph.memory.capture.attachments import attach
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.capture.writer import insert_write_set, resting
from stratagraph.memory.propagation import reachable, reevaluate
from stratagraph.memory.retrying import StaleRead
from stratagraph.memory.withdrawal import withdraw
from stratagraph.store.audit.events import AuditEvent, write_audit
from stratagraph.store.feed.consumer import Change
from stratagraph.store.keys.tenancy import Caller, Directory
from stratagraph.store.model.clock import RESOLUTION
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.errors import EpisodicImmutable, Forbidden, RecordNotFound, VersionConflict
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.locking import Locked, lock_records
from stratagraph.store.records.reading import Reader
from stratagraph.store.records.relations import disputes_of, end_relations
from stratagraph.store.records.writing import NewRelation, insert_relations, relation_changes

CURRENT = (RecordState.ACTIVE, RecordState.CONTESTED)


@dataclass(slots=True)
class UnitOfWork:
    """A revision's transaction. `at` is its one instant, taken after its locks."""

    connection: Connection
    directory: Directory
    caller: Caller
    at: datetime
    rationale: str
    changes: list[Change] = field(default_factory=list)
    touched: list[UUID] = field(default_factory=list)
    edges: list[NewRelation] = field(default_factory=list)
    queued: int = 0
    doubtful: set[UUID] = field(default_factory=set)  # looked at again at the end of this revision,
    causes: set[UUID] = field(default_factory=set)  # and so is what rests on these
    known: dict[UUID, MemoryRecord] = field(default_factory=dict)  # as they were before this revision

    async def targets(self, ids: Sequence[UUID], *, path: list[str]) -> list[MemoryRecord]:
        """The records to be revised, in the order of `ids`. Raises NotFound for what does not exist for the caller,
        Forbidden for what the caller sees only the head of, or may not write."""
        found = await Reader(self.connection, self.directory, self.caller, self.at).records(ids)
        for id_ in ids:
            record = found.get(id_)
            if record is None:
                raise RecordNotFound(id_, path=path)
            if record.redacted:
                raise Forbidden(f"{path[0]}: record {id_} is above the credential's ceiling", path=path)
            self._may_write(record, path)
        self.known |= found
        return [found[id_] for id_ in ids]

    def _may_write(self, record: MemoryRecord, path: list[str]) -> None:
        scopes = self.caller.trust.scopes
        if scopes is not None and record.scope not in scopes:
            where = "unscoped" if record.scope == UNSCOPED else f"in the scope {record.scope!r}"
            raise Forbidden(f"{path[0]}: record {record.id} is {where}, which this credential may only read", path=path)

    async def lock(self, ids: Collection[UUID], *, with_derived: bool = True) -> dict[UUID, Locked]:
        """Lock records, and with them what was derived from them; then take the instant of this revision.

        Raises StaleRead where one of them has changed or gone since `targets` read it.
        """
        derived = await reachable(self.connection, self.caller, ids) if with_derived else []
        rows = await lock_records(self.connection, self.caller.tenant, {*ids, *derived})
        self.after(*(row.updated_at for row in rows.values()))
        if any(id_ not in rows or rows[id_].updated_at != self.known[id_].updated_at for id_ in ids):
            raise StaleRead
        return {id_: rows[id_] for id_ in ids}

    def after(self, *seen: datetime) -> None:
        """This revision is later than all it touches (design decision 4)."""
        self.at = max([self.at, *(instant + RESOLUTION for instant in seen)])

    async def replace(
        self, ids: Collection[UUID], state: RecordState, *, by: UUID | None = None, keep_disputes: bool = False
    ) -> None:
        """Take locked records out of the current truth, and with them the disputes in which they stood."""
        if not keep_disputes:
            await self.end_disputes(ids)
        self.changes += await withdraw(
            self.connection, self.directory, self.caller, ids, state, rationale=self.rationale, at=self.at, by=by
        )
        self.touched += sorted(ids)

    async def end_disputes(self, ids: Collection[UUID]) -> None:
        """Whoever was in doubt only because of one of `ids` is looked at again."""
        disputes = await disputes_of(self.connection, self.caller.tenant, ids)
        self.changes += await end_relations(
            self.connection, self.caller.tenant, [dispute.relation for dispute in disputes], at=self.at
        )
        self.doubtful |= {end for dispute in disputes for end in (dispute.contested, dispute.by)}

    async def relate(self, relations: Sequence[NewRelation]) -> None:
        """Write relations; those that are there already stay as they are."""
        written = await insert_relations(self.connection, self.directory, self.caller.tenant, relations, at=self.at)
        self.changes += relation_changes(written)
        self.edges += written

    async def audit(self, events: Sequence[AuditEvent]) -> None:
        await write_audit(self.connection, self.caller.tenant, events, actor=self.caller.trust.actor, at=self.at)

    async def settle(self) -> None:
        """Re-evaluate the records that are doubtful, and what rests on those that were changed."""
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
        self.touched += sorted(done.moved)
        self.queued += done.queued

    async def writes(self, draft: Draft) -> WriteSet:
        """The draft as capture would write it, in this transaction."""
        names = {UNSCOPED, draft.scope}
        scopes = await self.directory.scopes(self.caller.tenant, names, create=True)
        return WriteSet(self.connection, self.directory, self.caller, [draft], scopes, self.at, author="revision")

    async def write(self, writes: WriteSet) -> None:
        """Write what the plan has gathered, link the artifacts it names, and count it as part of this revision."""
        await insert_write_set(writes)
        if any(draft.artifacts for draft in writes.drafts):
            current = {draft.position: writes.primaries.get(draft.position, draft.id) for draft in writes.drafts}
            records = await Reader(self.connection, self.directory, self.caller, writes.at).records(current.values())
            await attach(writes, {position: records[id_] for position, id_ in current.items()})
        self.changes += writes.changes
        self.doubtful |= writes.doubtful | resting(writes.records)
        self.touched += [record.id for _, record in writes.records]
        self.edges += [relation for _, relation in writes.relations]


def refuse_episodes(records: Sequence[MemoryRecord]) -> None:
    for record in records:
        if record.type is MemoryType.EPISODIC:
            raise EpisodicImmutable(
                f"Record {record.id} is an episode: what happened is never edited. Revise what was learned from it,"
                " or erase it where it must not be kept.",
                path=["recordId"],
            )


def require_version(row: Locked, expected: int | None) -> None:
    if expected is not None and row.version != expected:
        raise VersionConflict(row.version)


def require_current(rows: Mapping[UUID, Locked]) -> None:
    """Only what is part of the current truth is revised: else two corrections of one record would both stand."""
    for row in rows.values():
        if row.state not in CURRENT:
            raise VersionConflict(
                row.version,
                f"Record {row.id} was {row.state.label} meanwhile (its version is now {row.version}). Read it again,"
                " and revise the record that took its place.",
            )
