"""Facts whose place a capture takes because an import says so: a memory was changed where it came from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.capture.disputes import supersede_facts
from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.revise.withdrawal import withdraw
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import RecordState
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.fact_keys import Slot
from stratagraph.store.records.facts import Fact, lock_current_facts, slots_of


def replaced_by(draft: Draft) -> Sequence[UUID]:
    """Return the facts whose place the draft takes."""
    imported = draft.request.imported
    return imported.replaces if imported is not None else ()


async def slots_of_replaced(connection: Connection, tenant: Tenant, drafts: Collection[Draft]) -> dict[Slot, None]:
    """Return the slots of the facts that the drafts replace, which are locked with those of the drafts."""
    ids = [id_ for draft in drafts for id_ in replaced_by(draft)]
    return dict.fromkeys((await slots_of(connection, tenant, ids)).values()) if ids else {}


@dataclass(slots=True)
class ReplacedFacts:
    """The locked facts that the drafts of a group replace, by id. Facts that are history already are none of them."""

    facts: dict[UUID, Fact]

    @property
    def changed_at(self) -> list[datetime]:
        """The instants at which the facts were last changed."""
        return [fact.updated_at for fact in self.facts.values()]

    async def settle(self, writes: WriteSet) -> None:
        """Supersede the facts by those that the drafts became or repeated.

        A fact that the draft has trimmed is history by that, and one that has later evidence than the draft stays.
        """
        trimmed = {trim.fact for trim in writes.trims}
        successors: dict[UUID, UUID] = {}
        for draft in writes.drafts:
            by = writes.primaries.get(draft.position, draft.id)
            left = [
                id_
                for id_ in replaced_by(draft)
                if id_ in self.facts
                and id_ != by
                and id_ not in trimmed
                and id_ not in writes.withdrawn
                and id_ not in successors
            ]
            if not left or draft.position in writes.superseded:
                continue
            if by == draft.id:
                revision = draft.payload.get("revision") or {}
                draft.payload["revision"] = {"supersedes": str(min(left)), **revision}
            contested = {id_: self.facts[id_] for id_ in left if self.facts[id_].state is RecordState.CONTESTED}
            if contested:
                await supersede_facts(writes, draft, contested, by=by)
            for id_ in left:
                if id_ not in contested:
                    successors[id_] = by
                    writes.relate(draft, by, id_, "supersedes", 1.0)
                    writes.note_change(draft, id_, Effect.SUPERSEDED)
        if successors:
            await self._supersede(writes, successors)

    async def _supersede(self, writes: WriteSet, successors: dict[UUID, UUID]) -> None:
        """Supersede facts, each by its successor, together."""
        writes.withdrawn |= successors.keys()
        writes.successors |= successors
        writes.changes += await withdraw(
            writes.connection,
            writes.directory,
            writes.caller,
            successors,
            RecordState.SUPERSEDED,
            rationale={id_: f"superseded by {by}" for id_, by in successors.items()},
            at=writes.at,
            by=successors,
        )


async def lock_replaced(writes: WriteSet) -> ReplacedFacts:
    """Lock the current facts that the drafts of a group replace; their slots must be locked."""
    ids = [id_ for draft in writes.drafts for id_ in replaced_by(draft)]
    return ReplacedFacts(await lock_current_facts(writes.connection, writes.caller.tenant, ids))
