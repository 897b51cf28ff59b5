"""The versions and digests stored in the mirror, read for comparison with Postgres: sums of buckets, and rows."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.statements import UUID_PATTERN, of_each_type, of_type, statement
from stratagraph.store.feed.changes import Kind
from stratagraph.store.mirror.source import BucketDigest, RowDigest


class MirrorDigests:
    """Reads a mirror for comparison. Every method raises MirrorUnavailable."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    async def bucket_digest(self, kind: Kind, tenant: int, after: UUID, upto: UUID | None) -> BucketDigest:
        """Return a bucket's number of rows and the sums of their versions and digests; its `last` is None."""
        text = statement("sum_nodes")
        if kind is Kind.RELATION:
            types = await self._mirror.relationship_types()
            if not types:
                return BucketDigest(count=0, versions=0, digests=0)
            text = of_each_type("sum_relations", types, count="sum", versions="sum", digests="sum")
        row = (await self._mirror.read(text, _range(tenant, after, upto)))[0]
        return BucketDigest(count=row["count"], versions=row["versions"], digests=row["digests"])

    async def row_digests(self, kind: Kind, tenant: int, after: UUID, upto: UUID | None) -> dict[UUID, RowDigest]:
        """Return the version and digest of each row of a bucket, keyed by id."""
        texts = [statement("list_nodes")]
        if kind is Kind.RELATION:
            texts = [of_type("list_relations", one) for one in await self._mirror.relationship_types()]
        found = {}
        for text in texts:
            row = (await self._mirror.read(text, _range(tenant, after, upto)))[0]
            for id_, version, digest in zip(row["id"], row["version"], row["digest"], strict=True):
                found[UUID(id_)] = RowDigest(version=version, digest=digest)
        return found


def _range(tenant: int, after: UUID, upto: UUID | None) -> dict[str, Any]:
    """Return the bounds of a bucket: keys after `after` and up to `upto`; `~` sorts after every id."""
    return {"ten": tenant, "after": str(after), "upto": "~" if upto is None else str(upto), "uuid": UUID_PATTERN}
