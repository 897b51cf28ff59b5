"""Which artifacts there are, who may know of them, and which of their objects are to go.

The bytes are objects in a store apart from the database, so neither can be changed together with the other. Each
object is therefore written once, under a key of its own, and `artifact_removal` names every object that must not stay:
before it is written (`announce`), until a row in `artifact` stands for it (`adopt`), and again from the transaction
that takes this row away until the object is gone. A crash at any instant leaves at most an object that is named there,
and a later pass removes it. A removal never meets a fresh upload of the same bytes, which has another key.

What an uploader may know follows from the upload alone (`artifact_upload`), never from what others stored: whoever
sends bytes that somebody else hides here learns nothing. A claim ends when a record of the uploader takes the artifact
up, from when on the record's trust decides, or after `GRACE`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import RowMapping, delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.sealing.vault import Sealed, Sealer
from stratagraph.store.keys.tenancy import Caller, Tenant
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres import tables
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch, run

GRACE = timedelta(days=1)  # from the upload: as long may an artifact be without a record that refers to it
PURPOSE = "artifact"  # of what the vault seals: the key of an object's bytes
ATTEMPTS = 3  # an upload meets the removal of the same bytes again at most this often
_URI = re.compile(r"sha256:([0-9a-fA-F]{64})\Z")


def uri_of(sha256: bytes) -> str:
    return f"sha256:{sha256.hex()}"


def hash_in(text: str) -> bytes | None:
    """The hash that a string of the form sha256:<64 hexadecimal digits> names; None for any other string."""
    match = _URI.match(text)
    return bytes.fromhex(match.group(1)) if match else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """One object in the store."""

    tenant: int
    sha256: bytes
    id: UUID

    @property
    def key(self) -> str:
        digest = self.sha256.hex()
        return f"{self.tenant}/{digest[:2]}/{digest}.{self.id.hex}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedKey:
    """The key of an object's bytes in an envelope, and the tenant's data key that sealed it."""

    blob: bytes
    data_key: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """An artifact as its caller knows it.

    `media_type` is what the caller, or a record in its sight, said it is. `sealed` is the object's own key, sealed by
    the tenant's; None: the object's bytes are the artifact's.
    """

    stored: StoredObject
    size_bytes: int
    media_type: str | None
    sealed: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactLink:
    """That a record refers to an artifact."""

    record: UUID
    sha256: bytes
    media_type: str | None


async def announce(connection: AsyncConnection, stored: StoredObject, *, at: datetime) -> None:
    """Say that an object is about to be written; unless it is adopted within the grace period, it is removed."""
    row = {"tenant": stored.tenant, "object": stored.id, "sha256": stored.sha256, "due_at": at + GRACE}
    await insert_rows(connection, tables.artifact_removal, [row])


async def adopt(
    connection: AsyncConnection,
    stored: StoredObject,
    *,
    size_bytes: int,
    media_type: str | None,
    key: SealedKey | None,
    actor: str,
    at: datetime,
) -> list[StoredObject]:
    """Let the announced object stand for its artifact, and the uploader know of it.

    Returns the object that stood for it before, if any: queued for removal, and to be removed after the commit. So
    bytes that were damaged in the store are mended by sending them again. Raises StoreUnavailable if the announced
    object was removed meanwhile.
    """
    removal, artifact = tables.artifact_removal, tables.artifact
    kept = await connection.execute(
        delete(removal).where(removal.c.tenant == stored.tenant, removal.c.object == stored.id)
    )
    if kept.rowcount == 0:
        raise StoreUnavailable("The upload took so long that it was given up; send it again.")
    sealed = {"sealed": key.blob if key else None, "data_key": key.data_key if key else None}
    row = {
        "tenant": stored.tenant,
        "sha256": stored.sha256,
        "object": stored.id,
        **sealed,
        "size_bytes": size_bytes,
        "created_at": at,
        "look_at": at + GRACE,
    }
    this = (artifact.c.tenant == stored.tenant, artifact.c.sha256 == stored.sha256)
    displaced: list[StoredObject] = []
    for _ in range(ATTEMPTS):
        if await insert_rows(connection, artifact, [row], suffix="ON CONFLICT DO NOTHING RETURNING sha256"):
            break
        old = (
            await connection.execute(select(artifact.c.object).where(*this).with_for_update(key_share=True))
        ).scalar_one_or_none()
        if old is None:
            continue
        await connection.execute(update(artifact).where(*this).values(object=stored.id, **sealed))
        await run(connection, "enqueue_removals", tenants=[stored.tenant], objects=[old], hashes=[stored.sha256])
        displaced = [StoredObject(tenant=stored.tenant, sha256=stored.sha256, id=old)]
        break
    else:
        raise StoreUnavailable("The same bytes are being removed just now; send them again.")
    claim = {
        "tenant": stored.tenant,
        "sha256": stored.sha256,
        "actor": actor,
        "media_type": media_type,
        "uploaded_at": at,
    }
    await insert_rows(
        connection,
        tables.artifact_upload,
        [claim],
        suffix="ON CONFLICT (tenant, sha256, actor) DO UPDATE"
        " SET media_type = excluded.media_type, uploaded_at = excluded.uploaded_at",
    )
    return displaced


async def find_artifacts(
    connection: AsyncConnection, caller: Caller, hashes: Collection[bytes], *, at: datetime
) -> dict[bytes, Artifact]:
    """Those of `hashes` that exist for the caller: sent by itself, or referred to by a record in its full sight."""
    if not hashes:
        return {}
    rows = await fetch(
        connection,
        "find_artifacts",
        **caller.parameters(),
        hashes=list(hashes),
        actor=caller.trust.actor,
        since=at - GRACE,
    )
    found = {}
    for row in rows:
        stored = StoredObject(tenant=caller.tenant.id, sha256=bytes(row["sha256"]), id=row["object"])
        found[stored.sha256] = Artifact(
            stored=stored,
            size_bytes=row["size_bytes"],
            media_type=row["media_type"],
            sealed=bytes(row["sealed"]) if row["sealed"] is not None else None,
        )
    return found


async def hold_artifacts(
    connection: AsyncConnection, caller: Caller, hashes: Collection[bytes], *, at: datetime
) -> dict[bytes, Artifact]:
    """Like `find_artifacts`, and what is found cannot be removed before this transaction ends."""
    if not hashes:
        return {}
    await run(connection, "lock_artifacts_shared", tenant=caller.tenant.id, hashes=list(hashes))
    # Seen by a statement of its own, after the locks: what a remover took away while we waited is gone.
    return await find_artifacts(connection, caller, hashes, at=at)


async def link_artifacts(connection: AsyncConnection, caller: Caller, links: Collection[ArtifactLink]) -> None:
    """Let records refer to artifacts that are held; the caller's own uploads of them are thereby taken up."""
    if not links:
        return
    tenant = caller.tenant.id
    await insert_rows(
        connection,
        tables.artifact_reference,
        [
            {"tenant": tenant, "sha256": link.sha256, "record": link.record, "media_type": link.media_type}
            for link in links
        ],
        suffix="ON CONFLICT DO NOTHING",
    )
    claim = tables.artifact_upload
    await connection.execute(
        delete(claim).where(
            claim.c.tenant == tenant,
            claim.c.actor == caller.trust.actor,
            claim.c.sha256.in_({link.sha256 for link in links}),
        )
    )


async def release(
    connection: AsyncConnection, tenant: Tenant, records: Collection[UUID], *, since: datetime | None = None
) -> list[bytes]:
    """Take `records` off their artifacts, and return the hashes of those that nobody refers to any more.

    Called in the transaction that removes the records, after their rows are locked. The orphans cease to exist with its
    commit; their objects are queued, and go by `Artifacts.discard` or, at the latest, by the next pass of housekeeping.
    What somebody sent after `since`, and has not named yet, stays for that uploader; without it, for erasing, it goes.
    """
    if not records:
        return []
    rows = await fetch(connection, "release_references", tenant=tenant.id, records=list(records))
    hashes = sorted({bytes(row["sha256"]) for row in rows})
    if not hashes:
        return []
    artifact = tables.artifact
    await connection.execute(
        select(artifact.c.sha256)
        .where(artifact.c.tenant == tenant.id, artifact.c.sha256.in_(hashes))
        .order_by(artifact.c.sha256)
        .with_for_update()
    )
    gone = await fetch(
        connection,
        "drop_artifacts",
        tenants=[tenant.id] * len(hashes),
        hashes=hashes,
        since=since,
    )
    return sorted(bytes(row["sha256"]) for row in gone)


async def release_all(connection: AsyncConnection, tenant: Tenant) -> list[bytes]:
    """Like `release` for every artifact of a tenant that goes, whoever refers to it."""
    artifact = tables.artifact
    await connection.execute(
        select(artifact.c.sha256).where(artifact.c.tenant == tenant.id).order_by(artifact.c.sha256).with_for_update()
    )
    gone = await fetch(connection, "drop_all_artifacts", tenant=tenant.id)
    return sorted(bytes(row["sha256"]) for row in gone)


async def reseal_artifacts(connection: AsyncConnection, tenant: Tenant, sealer: Sealer, *, limit: int) -> int:
    """Seal the keys of at most `limit` artifacts anew, which another data key seals; returns how many. No object is
    touched.
    """
    artifact = tables.artifact
    rows = (
        await connection.execute(
            select(artifact.c.sha256, artifact.c.object, artifact.c.sealed)
            .where(artifact.c.tenant == tenant.id, artifact.c.data_key != sealer.key_id)
            .order_by(artifact.c.sha256)
            .limit(limit)
            .with_for_update(key_share=True)
        )
    ).all()
    closed = [Sealed(id=row.object, purpose=PURPOSE, blob=bytes(row.sealed)) for row in rows]
    for row, key in zip(rows, await tenant.keyring.open(closed), strict=True):
        await connection.execute(
            update(artifact)
            .where(artifact.c.tenant == tenant.id, artifact.c.sha256 == row.sha256)
            .values(sealed=sealer.seal(row.object, PURPOSE, key), data_key=sealer.key_id)
        )
    return len(rows)


async def collect_garbage(connection: AsyncConnection, *, at: datetime, limit: int) -> int:
    """Look at no more than `limit` artifacts that are due for it, and drop those that nobody needs; returns how many
    were looked at. One that is needed is looked at again after the grace period.
    """
    rows = await fetch(connection, "lock_artifacts_due", at=at, limit=limit)
    if not rows:
        return 0
    due = {"tenants": [row["tenant"] for row in rows], "hashes": [bytes(row["sha256"]) for row in rows]}
    # Now that they are locked, whoever was linking one of them has finished: this statement sees it.
    await fetch(connection, "drop_artifacts", **due, since=at - GRACE)
    await run(connection, "postpone_artifact_checks", **due, since=at - GRACE, again=at + GRACE)
    return len(rows)


async def fetch_removals(connection: AsyncConnection, *, at: datetime, limit: int) -> list[StoredObject]:
    """Objects that are to go by now, held for this transaction: nobody else removes or adopts them meanwhile."""
    return _objects(await fetch(connection, "fetch_removals", at=at, limit=limit))


async def fetch_removals_of(
    connection: AsyncConnection, tenant: Tenant, hashes: Collection[bytes]
) -> list[StoredObject]:
    """The objects that orphans leave behind, held for this transaction; uploads under way are not among them."""
    return _objects(await fetch(connection, "fetch_removals_of", tenant=tenant.id, hashes=list(hashes)))


async def forget_removals(connection: AsyncConnection, removed: Sequence[StoredObject]) -> None:
    """Strike objects that are gone off the list."""
    await run(
        connection,
        "delete_removals",
        tenants=[stored.tenant for stored in removed],
        objects=[stored.id for stored in removed],
    )


async def postpone_removals(connection: AsyncConnection, failed: Sequence[StoredObject], *, until: datetime) -> None:
    """Try again later, so that an object that cannot be removed does not stand in the others' way."""
    await run(
        connection,
        "postpone_removals",
        tenants=[stored.tenant for stored in failed],
        objects=[stored.id for stored in failed],
        until=until,
    )


def _objects(rows: Sequence[RowMapping]) -> list[StoredObject]:
    return [StoredObject(tenant=row["tenant"], sha256=bytes(row["sha256"]), id=row["object"]) for row in rows]
