"""Records that one of a capture supersedes."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from stratagraph.memory.capture.draft import Draft
from stratagraph.memory.capture.write_set import WriteSet
from stratagraph.memory.records.changes import Effect
from stratagraph.memory.revise.withdrawal import withdraw
from stratagraph.store.model.enums import RecordState


async def supersede_records(writes: WriteSet, draft: Draft, ids: Sequence[UUID], *, by: UUID) -> None:
    """Withdraw locked records, which the record `by` supersedes: the draft becomes it or repeats it."""
    writes.withdrawn |= set(ids)
    writes.changes += await withdraw(
        writes.connection,
        writes.directory,
        writes.caller,
        ids,
        RecordState.SUPERSEDED,
        rationale=f"superseded by {by}",
        at=writes.at,
        by=by,
    )
    for id_ in ids:
        writes.relate(draft, by, id_, "supersedes", 1.0)
        writes.note_change(draft, id_, Effect.SUPERSEDED)
