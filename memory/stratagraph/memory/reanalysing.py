"""Background analysis after an upgrade: records of an earlier release get the terms that captures compute now.

A tenant's records are read once, in id order, while captures go on. Terms are only added: a record that was found is
found as before until then, and after it. See docs/data-model.md, Search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.episodes import member_words
from stratagraph.store.jobs.isolation import process_or_set_aside
from stratagraph.store.jobs.set_aside import due_set_aside
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.words import record_terms, with_more_terms
from stratagraph.store.postgres.database import Connection, Database, Role
from stratagraph.store.records.old_terms import (
    MoreTerms,
    add_terms,
    fetch_analysed,
    finish_reanalysis,
    list_analysable,
    lock_reanalysis,
    note_analysed,
)

JOB = "analyse-words"
RETRIED = 100  # records that were set aside, tried again in one transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysedBatch:
    """The number of records read in one batch, and how many of them were set aside; `more` if others may be due."""

    records: int = 0
    set_aside: int = 0
    more: bool = False


async def reanalyse_batch(database: Database, directory: Directory, *, now: datetime, batch: int) -> AnalysedBatch:
    """Add the present terms to at most `batch` records of one tenant, in one transaction.

    The place is stored with them, so that the next batch goes on there, whichever server runs it. Records that cannot
    be read are set aside and tried again; the tenant is done when there are none of them left.
    """
    async with database.background(Role.JOBS) as connection:
        beyond = -1
        while (found := await lock_reanalysis(connection, beyond=beyond)) is not None:
            beyond, after = found
            tenant = await directory.tenant_by_id(beyond)
            done = await _reanalyse_tenant(connection, tenant, after, now=now, batch=batch)
            if done is not None:
                return done
    return AnalysedBatch()


async def _reanalyse_tenant(
    connection: Connection, tenant: Tenant, after: UUID | None, *, now: datetime, batch: int
) -> AnalysedBatch | None:
    """Analyse the next records of a locked tenant; None if none is due at `now`."""
    next_ids = await list_analysable(connection, tenant, after=after, limit=batch)
    ids = next_ids
    if not ids:
        due = await due_set_aside(connection, JOB, now=now, limit=RETRIED)
        ids = [id_ for number, id_ in due if number == tenant.id]
        if not ids:
            finished = await finish_reanalysis(connection, tenant, JOB)
            return AnalysedBatch(more=True) if finished else None

    async def process(part: Sequence[UUID]) -> None:
        changes = []
        for record in await fetch_analysed(connection, tenant, part):
            text = f"{record.text}\n{member_words(record.members)}" if record.members else record.text
            terms, added = with_more_terms(record.terms, record_terms(tenant.index_key, text))
            if added:
                changes.append(MoreTerms(record=record, terms=terms, added=added))
        await add_terms(connection, tenant, changes)

    _, failures = await process_or_set_aside(connection, JOB, ids, process, key=lambda id_: (tenant.id, id_), at=now)
    if next_ids:
        await note_analysed(connection, tenant, next_ids[-1])
    return AnalysedBatch(records=len(ids), set_aside=len(failures), more=True)
