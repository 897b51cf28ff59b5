"""Tenants whose records have the terms of an earlier analysis of texts, and giving them those of the present one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.jobs.tenant_passes import TenantPass
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.contents import open_contents
from stratagraph.store.model.words import Terms
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import array_literal
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.records.episode_endings import Member, read_members

REANALYSIS = TenantPass("analyse-words", tables.reanalysis)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysedRecord:
    """A record with the text that its terms were made of, and these terms.

    `members` are those of a closed episode, whose terms have words of theirs; empty for any other record.
    """

    id: UUID
    row_version: int
    text: str
    terms: Terms
    members: Sequence[Member]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreTerms:
    """The terms that a record gets, and the numbers among them that it lacked."""

    record: AnalysedRecord
    terms: Terms
    added: Sequence[int]


async def list_analysable(connection: AsyncConnection, tenant: Tenant, *, after: UUID | None, limit: int) -> list[UUID]:
    """Return at most `limit` ids of records above `after`, ascending."""
    rows = await fetch(connection, "list_analysable", tenant=tenant.id, after=after, limit=limit)
    return [row["id"] for row in rows]


async def fetch_analysed(connection: AsyncConnection, tenant: Tenant, ids: Sequence[UUID]) -> list[AnalysedRecord]:
    """Return records with their texts and terms; sealed texts are decrypted.

    Open episodes, which get their terms when they are closed, are left out.
    """
    rows = await fetch(connection, "fetch_analysable", tenant=tenant.id, ids=list(ids))
    contents = await open_contents(tenant.keyring, rows)
    episodes = await fetch(connection, "find_episodes", tenant=tenant.id, ids=list(ids))
    closed = [row["id"] for row in episodes if row["is_closed"]]
    still_open = {row["id"] for row in episodes if not row["is_closed"]}
    members = await read_members(connection, tenant, closed) if closed else {}
    return [
        AnalysedRecord(
            id=row["id"],
            row_version=row["row_version"],
            text=(row if content is None else content)["text"] or "",
            terms=Terms.of_sparsevec(row["impacts"]),
            members=members.get(row["id"], ()),
        )
        for row, content in zip(rows, contents, strict=True)
        if row["id"] not in still_open
    ]


async def add_terms(connection: AsyncConnection, tenant: Tenant, changes: Sequence[MoreTerms]) -> None:
    """Add terms to records, and to the counts what they lacked; records written since they were read are skipped."""
    if not changes:
        return
    await run(
        connection,
        "add_terms",
        tenant=tenant.id,
        ids=[change.record.id for change in changes],
        row_versions=[change.record.row_version for change in changes],
        added=[array_literal(list(change.added)) for change in changes],
        terms=[array_literal(list(change.terms.numbers)) for change in changes],
        impacts=[change.terms.as_sparsevec() for change in changes],
    )
