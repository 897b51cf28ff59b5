"""The keys of sealed objects: each object has its own key, sealed by the tenant's data key in the artifact's row."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.keys.sealing.vault import Sealed, Sealer
from stratagraph.store.postgres.schema import tables

PURPOSE = "artifact"  # the vault's purpose for the key of an object


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedKey:
    """The sealed key of an object, and the id of the tenant's data key that sealed it."""

    blob: bytes
    data_key: int


async def reseal_artifacts(connection: AsyncConnection, tenant: Tenant, sealer: Sealer, *, limit: int) -> int:
    """Seal the object keys of at most `limit` artifacts again with `sealer`, if another data key seals them.

    Returns the number of object keys sealed again.

    The objects themselves are not read or written.
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
    sealed_keys = [Sealed(id=row.object, purpose=PURPOSE, blob=bytes(row.sealed)) for row in rows]
    for row, key in zip(rows, await tenant.keyring.open(sealed_keys), strict=True):
        await connection.execute(
            update(artifact)
            .where(artifact.c.tenant == tenant.id, artifact.c.sha256 == row.sha256)
            .values(sealed=sealer.seal(row.object, PURPOSE, key), data_key=sealer.key_id)
        )
    return len(rows)
