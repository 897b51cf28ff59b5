"""References of records to artifacts: find what a caller may know of, link it to records, and release it again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.artifacts.objects import GRACE, Artifact, StoredObject
from stratagraph.store.keys.callers import Caller, Tenant
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import fetch, run
from stratagraph.store.postgres.schema import tables


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactLink:
    """A record's reference to an artifact."""

    record: UUID
    sha256: bytes
    media_type: str | None


async def find_artifacts(
    connection: AsyncConnection, caller: Caller, hashes: Collection[bytes], *, at: datetime
) -> dict[bytes, Artifact]:
    """Return the artifacts with these hashes that the caller may know of, keyed by hash; other hashes are left out.

    A caller may know of an artifact that it uploaded within the grace period before `at` and has not referred to yet,
    and of one to which a record refers that the caller may read in full.
    """
    if not hashes:
        return {}
    rows = await fetch(
        connection,
        "find_artifacts",
        **caller.parameters(),
        hashes=list(hashes),
        actor=caller.trust.identity,
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


async def lock_artifacts(
    connection: AsyncConnection, caller: Caller, hashes: Collection[bytes], *, at: datetime
) -> dict[bytes, Artifact]:
    """Return the same as `find_artifacts`, and prevent the removal of these artifacts until the transaction ends."""
    if not hashes:
        return {}
    await run(connection, "lock_artifacts_shared", tenant=caller.tenant.id, hashes=list(hashes))
    # A separate statement, since only a snapshot taken after the locks shows what was removed while they were awaited.
    return await find_artifacts(connection, caller, hashes, at=at)


async def link_artifacts(connection: AsyncConnection, caller: Caller, links: Collection[ArtifactLink]) -> None:
    """Insert references from records to locked artifacts, and delete the entries of the caller's uploads of them.

    From then on, the references decide who may know of the artifacts.
    """
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
    upload = tables.artifact_upload
    await connection.execute(
        delete(upload).where(
            upload.c.tenant == tenant,
            upload.c.actor == caller.trust.identity,
            upload.c.sha256.in_({link.sha256 for link in links}),
        )
    )


async def release_artifacts(
    connection: AsyncConnection, tenant: Tenant, records: Collection[UUID], *, since: datetime | None = None
) -> list[bytes]:
    """Delete the references of `records` and the artifacts that no record refers to any more; return their hashes.

    Call it in the transaction that deletes the records, after locking their rows. The artifacts cease to exist with the
    commit. Their objects are queued, and removed by `Artifacts.remove_released` or, at the latest, by the job
    `sweep-artifacts`. An artifact that a caller uploaded after `since` and has not referred to yet is kept for that
    uploader; without `since`, as when erasing, it is deleted too.
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
    deleted = await fetch(
        connection,
        "delete_artifacts",
        tenants=[tenant.id] * len(hashes),
        hashes=hashes,
        since=since,
    )
    return sorted(bytes(row["sha256"]) for row in deleted)


async def release_all_artifacts(connection: AsyncConnection, tenant: Tenant) -> list[bytes]:
    """Delete every artifact of a tenant that is being erased, whatever refers to it; return their hashes.

    The objects, those of uploads in progress included, are queued for removal.
    """
    artifact = tables.artifact
    await connection.execute(
        select(artifact.c.sha256).where(artifact.c.tenant == tenant.id).order_by(artifact.c.sha256).with_for_update()
    )
    deleted = await fetch(connection, "delete_all_artifacts", tenant=tenant.id)
    return sorted(bytes(row["sha256"]) for row in deleted)
