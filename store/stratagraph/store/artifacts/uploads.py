"""Uploads: register an object before it is written, and attach it to its artifact afterwards."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.artifacts.object_keys import SealedKey
from stratagraph.store.artifacts.objects import GRACE, StoredObject
from stratagraph.store.model.errors import StoreUnavailable
from stratagraph.store.postgres.bulk import insert_rows
from stratagraph.store.postgres.queries import run
from stratagraph.store.postgres.schema import tables

ATTEMPTS = 3  # attempts to attach an object while the same artifact is being removed concurrently


async def register_object(connection: AsyncConnection, stored: StoredObject, *, at: datetime) -> None:
    """Register an object before it is written to the object store.

    Unless it is attached to an artifact within the grace period, it is removed.
    """
    row = {"tenant": stored.tenant, "object": stored.id, "sha256": stored.sha256, "due_at": at + GRACE}
    await insert_rows(connection, tables.artifact_removal, [row])


async def attach_object(
    connection: AsyncConnection,
    stored: StoredObject,
    *,
    size_bytes: int,
    media_type: str | None,
    key: SealedKey | None,
    actor: str,
    at: datetime,
) -> None:
    """Make a written object the one from which its artifact is read, and record the upload by `actor`.

    The object that it replaces is queued for removal. Uploading the same bytes again therefore repairs an object that
    was damaged in the store. Raises StoreUnavailable if the registered object was removed in the meantime, or if the
    artifact is being removed concurrently.
    """
    removal, artifact = tables.artifact_removal, tables.artifact
    registered = await connection.execute(
        delete(removal).where(removal.c.tenant == stored.tenant, removal.c.object == stored.id)
    )
    if registered.rowcount == 0:
        raise StoreUnavailable("The uploaded object was removed before the upload was complete; send it again.")
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
    for _ in range(ATTEMPTS):
        if await insert_rows(connection, artifact, [row], suffix="ON CONFLICT DO NOTHING RETURNING sha256"):
            break
        old = (
            await connection.execute(select(artifact.c.object).where(*this).with_for_update(key_share=True))
        ).scalar_one_or_none()
        if old is None:  # the artifact was removed while this statement waited for its lock
            continue
        await connection.execute(update(artifact).where(*this).values(object=stored.id, **sealed))
        await run(connection, "enqueue_removals", tenants=[stored.tenant], objects=[old], hashes=[stored.sha256])
        break
    else:
        raise StoreUnavailable("An artifact with the same bytes is being removed; send it again.")
    upload = {
        "tenant": stored.tenant,
        "sha256": stored.sha256,
        "actor": actor,
        "media_type": media_type,
        "uploaded_at": at,
    }
    await insert_rows(
        connection,
        tables.artifact_upload,
        [upload],
        suffix="ON CONFLICT (tenant, sha256, actor) DO UPDATE"
        " SET media_type = excluded.media_type, uploaded_at = excluded.uploaded_at",
    )
