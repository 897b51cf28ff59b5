"""Update the content of records that are locked, keeping each earlier version in the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.changes import Change, Kind, Seen
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing import contents
from stratagraph.store.keys.sealing.vault import Sealer
from stratagraph.store.model.enums import RecordState
from stratagraph.store.model.valid_time import Interval, multirange
from stratagraph.store.model.words import Terms
from stratagraph.store.postgres.queries import Row, fetch, run

MARKED = 1_000  # relations of a record, per direction, at which something is noted of their end


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """New values for the fields of one record; None leaves a field unchanged. JSON fields are given as text.

    A sensitivity below that of the record leaves it unchanged.

    A revision increments the `version` that callers see; an append, a statistic or new evidence does not.
    """

    id: UUID
    state: int | None = None
    sensitivity: int | None = None
    confidence: float | None = None
    name: str | None = None
    text: str | None = None
    payload: str | None = None
    provenance: str | None = None
    interpretation: str | None = None
    learned_state: str | None = None
    terms: Terms | None = None
    occurred_at: datetime | None = None
    lesson_authors: tuple[str, ...] | None = None
    validity: str | None = None  # the effective interval of a fact, as a tstzrange in text form
    named_times: tuple[Interval, ...] | None = None
    is_revision: bool = True

    def content(self) -> dict[str, Any]:
        """Return the new values of the fields that are sealed together, with their JSON decoded."""
        plain = {"name": self.name, "text": self.text}
        json = {
            "payload": self.payload,
            "provenance": self.provenance,
            "interpretation": self.interpretation,
            "learned_state": self.learned_state,
        }
        values: dict[str, Any] = {name: value for name, value in plain.items() if value is not None}
        return values | {name: orjson.loads(value) for name, value in json.items() if value is not None}


async def update_records(
    connection: AsyncConnection,
    directory: Directory,
    tenant: Tenant,
    edits: Sequence[Edit],
    *,
    at: datetime,
) -> list[Change]:
    """Update locked records and return the changes to append to the feed. Ids that do not exist are skipped.

    The previous version of each record is first copied to the history. A sealed record stays sealed. A record whose
    sensitivity reaches the encryption level, or that was written before a level was set, is sealed now together with
    its history and audit notes, in a bounded number of additional statements.
    """
    changes: list[Change] = []
    if not edits:
        return changes
    blobs, newly_sealed = await _seal_edits(connection, tenant, edits)
    for edit, blob in zip(edits, blobs, strict=True):
        rows = await fetch(
            connection,
            "update_record",
            tenant=tenant.id,
            id=edit.id,
            at=at,
            state=edit.state,
            sensitivity=edit.sensitivity,
            confidence=edit.confidence,
            sealed=blob.sealed,
            name=None if blob.is_sealed else edit.name,
            text=None if blob.is_sealed else edit.text,
            payload=None if blob.is_sealed else edit.payload,
            provenance=None if blob.is_sealed else edit.provenance,
            interpretation=None if blob.is_sealed else edit.interpretation,
            learned_state=None if blob.is_sealed else edit.learned_state,
            terms=edit.terms.numbers if edit.terms else None,
            impacts=edit.terms.as_sparsevec() if edit.terms else None,
            occurred_at=edit.occurred_at,
            validity=edit.validity,
            named_times=None if edit.named_times is None else multirange(edit.named_times),
            lesson_authors=None if edit.lesson_authors is None else list(edit.lesson_authors),
            step=1 if edit.is_revision else 0,
        )
        changes.extend(
            Change(kind=Kind.RECORD, id=edit.id, version=row["row_version"], seen=_seen_before(row)) for row in rows
        )
    await contents.seal_copies(connection, tenant.keyring, newly_sealed)
    await _mark_ends(connection, tenant, edits)
    return changes


def _seen_before(row: Row) -> Seen | None:
    """Return who could see a record whose sensitivity an update has raised; None if it has not."""
    if row["sensitivity"] == row["was_sensitivity"]:
        return None
    return Seen(scope=row["scope"], sensitivity=row["was_sensitivity"], raised_to=row["sensitivity"])


async def _mark_ends(connection: AsyncConnection, tenant: Tenant, edits: Sequence[Edit]) -> None:
    """Note at the relations of records whether that end is past now, and until when it holds.

    Only what the edits set is noted; the mirror is not affected.
    """
    past = {edit.id: edit.state > RecordState.CONTESTED for edit in edits if edit.state is not None}
    if past:
        await run(connection, "mark_past_ends", tenant=tenant.id, ids=list(past), past=list(past.values()), most=MARKED)
    validities = {edit.id: edit.validity for edit in edits if edit.validity is not None}
    if validities:
        await run(
            connection,
            "mark_ends_of_validity",
            tenant=tenant.id,
            ids=list(validities),
            validities=list(validities.values()),
            most=MARKED,
        )


@dataclass(frozen=True, slots=True)
class _Blob:
    """A record's new blob (None: the blob is unchanged), and whether the record's content is sealed in one."""

    sealed: bytes | None
    is_sealed: bool


async def _seal_edits(
    connection: AsyncConnection, tenant: Tenant, edits: Sequence[Edit]
) -> tuple[list[_Blob], set[UUID]]:
    """Return the blob that each edit leaves, and the ids of the records that become sealed."""
    rows = await fetch(
        connection,
        "fetch_contents",
        tenant=tenant.id,
        ids=[edit.id for edit in edits],
        levels=[None if edit.sensitivity is None else int(edit.sensitivity) for edit in edits],
        seal_from=None if tenant.keyring.seal_from is None else int(tenant.keyring.seal_from),
    )
    opened = await contents.open_contents(tenant.keyring, rows)
    current = {
        row["id"]: {name: row[name] for name in contents.FIELDS} if content is None else content
        for row, content in zip(rows, opened, strict=True)
    }
    newly_sealed = {row["id"] for row in rows if row["newly_sealed"]}
    unsealed = set(newly_sealed)
    sealer: Sealer | None = None
    blobs = []
    for edit in edits:
        values = current.get(edit.id)
        if values is None:
            blobs.append(_Blob(None, is_sealed=False))
            continue
        new_values = edit.content()
        if not new_values and edit.id not in unsealed:
            blobs.append(_Blob(None, is_sealed=True))
            continue
        values.update(new_values)
        unsealed.discard(edit.id)
        sealer = sealer or await tenant.keyring.sealer(connection)
        blobs.append(_Blob(contents.sealed_columns(sealer, edit.id, values)["sealed"], is_sealed=True))
    return blobs, newly_sealed
