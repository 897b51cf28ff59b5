"""Comparing the mirror with Postgres: first the sums of each bucket, then the rows of unequal ones, and some in full.

A bucket is a run of one tenant's keys, which either store finds by an index it has anyway
(docs/decisions/006-buckets-are-runs-of-keys.md). A difference may only be a change that is not applied yet, so it
counts only if it remains, with the same version in Postgres, once the feed has passed the instant at which it was seen.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from stratagraph.graph_sync.digests import MirrorDigests
from stratagraph.graph_sync.edits import EditFinder
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.store.feed.changes import Change, Kind
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.keys.directory import Directory
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.source import FIRST_ID, MirrorSource, RowDigest

BUCKET = {Kind.RECORD: 4_096, Kind.RELATION: 16_384}  # rows; relations are rarely compared one by one
SAMPLE = 0.001  # share of the rows that are compared in full
CATCH_UP_S = 60.0
_PAUSE_S = 0.05


class Drift(StrEnum):
    """The ways in which a row of the mirror differs from Postgres."""

    MISSING = "missing"  # Postgres has it, the mirror does not
    ORPHAN = "orphan"  # the mirror has it, Postgres does not
    STALE = "stale"  # the mirror has an older version
    AHEAD = "ahead"  # the mirror has a version that Postgres never had, or lost
    DIFFERENT = "different"  # the same version, written from another state or under other settings
    EDITED = "edited"  # the mirror was changed by hand


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """The keys of a tenant after `after` and up to `upto`; None means without end."""

    kind: Kind
    tenant: int
    after: UUID
    upto: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A row that differs between the two stores.

    `version` is the row's version in Postgres, `mirrored` that in the mirror; None where the store lacks the row.
    """

    drift: Drift
    kind: Kind
    tenant: int
    id: UUID
    version: int | None
    mirrored: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketCheck:
    """The result of comparing one bucket: the number of its rows in Postgres, and whether all sums are equal."""

    bucket: Bucket
    rows: int
    equal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of comparing the mirror with Postgres: what was compared, and the rows that differ.

    `settled` is False if no worker applied the waiting changes in time; then some of the differences may only be
    changes that are not applied yet.
    """

    rows: int
    buckets: int
    differences: Sequence[Difference]
    settled: bool = True

    @property
    def equal(self) -> bool:
        """Whether no row differs."""
        return not self.differences


class Checker:
    """Compares the mirror with Postgres. It writes nothing except repairs, which it appends to the change log."""

    def __init__(
        self, source: MirrorSource, mirror: Mirror, feed: Feed, generations: Generations, directory: Directory
    ) -> None:
        self._source = source
        self._mirror = mirror
        self._digests = MirrorDigests(mirror)
        self._edits = EditFinder(source, self._digests, directory)
        self._feed = feed
        self._generations = generations

    async def next_tenant(self, after: int) -> int | None:
        """Return the lowest tenant number above `after` that has rows in either store; None if there is none."""
        found = [await self._source.next_tenant(after), await self._mirror.next_tenant(after)]
        return min((tenant for tenant in found if tenant is not None), default=None)

    async def check_bucket(self, kind: Kind, tenant: int, after: UUID) -> BucketCheck:
        """Compare the sums of a tenant's next bucket: the rows of `kind` with ids above `after`, BUCKET at most."""
        truth = await self._source.bucket_digest(kind, tenant, after, size=BUCKET[kind])
        bucket = Bucket(kind=kind, tenant=tenant, after=after, upto=truth.last)
        mirror = await self._digests.bucket_digest(kind, tenant, after, truth.last)
        equal = (truth.count, truth.versions, truth.digests) == (mirror.count, mirror.versions, mirror.digests)
        return BucketCheck(bucket=bucket, rows=truth.count, equal=equal)

    async def check_buckets(self, tenant: int | None = None) -> AsyncIterator[BucketCheck]:
        """Compare the sums of every bucket, of one tenant or, with None, of all; yield each result."""
        current = tenant if tenant is not None else await self.next_tenant(-1)
        while current is not None:
            for kind in Kind:
                after: UUID | None = FIRST_ID
                while after is not None:
                    checked = await self.check_bucket(kind, current, after)
                    yield checked
                    after = checked.bucket.upto
            current = await self.next_tenant(current) if tenant is None else None

    async def verify(
        self,
        tenant: int | None = None,
        *,
        share: float = SAMPLE,
        within_s: float = CATCH_UP_S,
        on_bucket: Callable[[BucketCheck], None] | None = None,
    ) -> Verification:
        """Compare one tenant or, with None, all: the sums of every bucket, and a `share` (0 to 1) of the rows in full.

        Before a difference is reported, waits up to `within_s` seconds until the changes committed so far are applied;
        after that time it is reported anyway, with `settled` False. `on_bucket` is called with each bucket's result.
        """
        rows = buckets = 0
        unequal: list[Bucket] = []
        edited: list[Difference] = []
        async for checked in self.check_buckets(tenant):
            rows, buckets = rows + checked.rows, buckets + 1
            if not checked.equal:
                unequal.append(checked.bucket)
            edited += await self.find_edits(checked.bucket, share=share)
            if on_bucket is not None:
                on_bucket(checked)
        try:
            found, settled = await self.confirm_differences(unequal, within_s=within_s), True
        except TimeoutError:
            found, settled = [one for bucket in unequal for one in await self.differences(bucket)], False
        known = {(one.kind, one.tenant, one.id) for one in found}
        found += [one for one in edited if (one.kind, one.tenant, one.id) not in known]
        return Verification(rows=rows, buckets=buckets, differences=found, settled=settled)

    async def differences(self, bucket: Bucket) -> list[Difference]:
        """Return the rows of a bucket that differ now, including those whose changes are not applied yet."""
        mirror = await self._digests.row_digests(bucket.kind, bucket.tenant, bucket.after, bucket.upto)
        truth = await self._source.row_digests(bucket.kind, bucket.tenant, bucket.after, bucket.upto)
        found = []
        for id_ in sorted(truth.keys() | mirror.keys()):
            drift = _compare(truth.get(id_), mirror.get(id_))
            if drift is not None:
                found.append(
                    Difference(
                        drift=drift,
                        kind=bucket.kind,
                        tenant=bucket.tenant,
                        id=id_,
                        version=truth[id_].version if id_ in truth else None,
                        mirrored=mirror[id_].version if id_ in mirror else None,
                    )
                )
        return found

    async def find_edits(self, bucket: Bucket, *, share: float = SAMPLE) -> list[Difference]:
        """Compare a random `share` of a bucket's rows, at least one, in full; return those that were edited by hand."""
        edited = await self._edits.find(bucket.kind, bucket.tenant, bucket.after, bucket.upto, share=share)
        return [
            Difference(
                drift=Drift.EDITED, kind=bucket.kind, tenant=bucket.tenant, id=id_, version=version, mirrored=version
            )
            for id_, version in edited.items()
        ]

    async def confirm_differences(self, buckets: Iterable[Bucket], *, within_s: float = CATCH_UP_S) -> list[Difference]:
        """Return the rows of `buckets` that still differ once the changes committed before the call are applied.

        Raises TimeoutError if no worker applies them within `within_s` seconds.
        """
        chosen = list(buckets)
        first = {bucket: await self.differences(bucket) for bucket in chosen}
        if not any(first.values()):
            return []
        await self.wait_until_applied(within_s=within_s)
        confirmed = []
        for bucket, before in first.items():
            seen = {(one.id, one.version) for one in before}
            confirmed += (
                [one for one in await self.differences(bucket) if (one.id, one.version) in seen] if seen else []
            )
        return confirmed

    async def wait_until_applied(self, *, within_s: float) -> None:
        """Wait until all changes committed so far are applied. Raises TimeoutError after `within_s` seconds."""
        async with asyncio.timeout(within_s):
            newest = await self._feed.take_fresh_snapshot()
            while not await self._feed.has_passed(newest) or await self._is_building():  # noqa: ASYNC110 - elsewhere
                await asyncio.sleep(_PAUSE_S)

    async def _is_building(self) -> bool:
        """Return whether a generation is building: its cursors are at the present, but older rows are not written."""
        return any(one.state == "building" for one in await self._generations.unfinished())

    async def repair(self, differences: Sequence[Difference]) -> int:
        """Append a repair of each row to the change log and return their number. The mirror's workers apply them."""
        by_tenant: dict[int, list[Change]] = {}
        for one in differences:
            version = max(one.version or 0, one.mirrored or 0)
            by_tenant.setdefault(one.tenant, []).append(Change(kind=one.kind, id=one.id, version=version, op="R"))
        for tenant, changes in sorted(by_tenant.items()):
            await self._source.log_repairs(tenant, changes)
        return len(differences)


def count_by_class(differences: Iterable[Difference]) -> dict[str, int]:
    """Return the number of differences of each kind of drift that occurs, keyed by its word, such as `missing`."""
    return dict(Counter(str(one.drift) for one in differences))


def _compare(truth: RowDigest | None, mirror: RowDigest | None) -> Drift | None:
    if truth is None:
        return Drift.ORPHAN
    if mirror is None:
        return Drift.MISSING
    if mirror.version != truth.version:
        return Drift.STALE if mirror.version < truth.version else Drift.AHEAD
    return Drift.DIFFERENT if mirror.digest != truth.digest else None
