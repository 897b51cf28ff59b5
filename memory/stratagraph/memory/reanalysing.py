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
from stratagraph.memory.tenant_passes import PassedBatch, pass_batch
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.words import record_terms, with_more_terms
from stratagraph.store.postgres.database import Connection, Database
from stratagraph.store.records.old_terms import REANALYSIS, MoreTerms, add_terms, fetch_analysed, list_analysable

JOB = REANALYSIS.job


async def reanalyse_batch(database: Database, directory: Directory, *, now: datetime, batch: int) -> PassedBatch:
    """Add the present terms to at most `batch` records of one tenant, in one transaction."""

    async def open_tenant(connection: Connection, number: int) -> _Records:
        return _Records(connection, await directory.tenant_by_id(number))

    return await pass_batch(database, REANALYSIS, open_tenant, now=now, batch=batch)


@dataclass(frozen=True, slots=True)
class _Records:
    """The records of a tenant, which get the terms that they lack."""

    connection: Connection
    tenant: Tenant

    async def list_next(self, after: UUID | None, *, limit: int) -> Sequence[UUID]:
        return await list_analysable(self.connection, self.tenant, after=after, limit=limit)

    async def process(self, ids: Sequence[UUID]) -> None:
        changes = []
        for record in await fetch_analysed(self.connection, self.tenant, ids):
            text = f"{record.text}\n{member_words(record.members)}" if record.members else record.text
            terms, added = with_more_terms(record.terms, record_terms(self.tenant.index_key, text))
            if added:
                changes.append(MoreTerms(record=record, terms=terms, added=added))
        await add_terms(self.connection, self.tenant, changes)
