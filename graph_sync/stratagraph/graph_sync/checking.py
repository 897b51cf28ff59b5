"""Comparing the mirror with Postgres: by versions and digests, which is fast, or in full.

By digests, the sums of each bucket are compared first, then the rows of unequal ones. A bucket is a run of one tenant's
keys, which either store finds by an index it has anyway (docs/decisions.md). A digest
proves what the worker wrote, not what others changed later; `comparison` compares everything. A difference may only be
a change that is not applied yet, so it counts only if it remains, with the same version in Postgres, once the feed has
passed the instant at which it was seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from stratagraph.graph_sync.checkpoints import find_mismatch
from stratagraph.graph_sync.comparison import ComparedPage, Comparison
from stratagraph.graph_sync.differences import Difference, Drift, Subject
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.statements import UUID_PATTERN, of_each_type, of_type, statement
from stratagraph.store.feed.changes import ROWS, Kind
from stratagraph.store.feed.consumer import Feed
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.scrubs import ScrubPhase
from stratagraph.store.mirror.source import FIRST_ID, BucketDigest, MirrorSource, RowDigest, ScanPosition

BUCKET = {Kind.RECORD: 4_096, Kind.RELATION: 16_384}  # rows; relations are rarely compared one by one
PHASES = (ScrubPhase.NODES, ScrubPhase.RELATIONSHIPS, ScrubPhase.RECORDS, ScrubPhase.RELATIONS)
CATCH_UP_S = 60.0
_PAUSE_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """The keys of a tenant after `after` and up to `upto`; None means without end."""

    kind: Kind
    tenant: int
    after: UUID
    upto: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketCheck:
    """The result of comparing one bucket: the number of its rows in Postgres, and whether all sums are equal."""

    bucket: Bucket
    rows: int
    equal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result of comparing the mirror with Postgres: what was compared, and what differs.

    `rows` is the number of rows of Postgres that were compared, and `elements` that of the mirror's nodes and
    relationships that were looked up in Postgres. `complete` says that everything was compared. `settled` is False if
    no worker applied the waiting changes in time; then some of the differences may only be changes that are not applied
    yet.
    """

    rows: int
    elements: int
    differences: Sequence[Difference]
    complete: bool
    settled: bool = True

    @property
    def differs(self) -> bool:
        """Whether anything differs in what was compared."""
        return bool(self.differences)

    @property
    def equal(self) -> bool:
        """Whether everything was compared, and nothing differs."""
        return self.complete and not self.differences


class Checker:
    """Compares the mirror with Postgres, by digests or in full. It writes nothing."""

    def __init__(
        self, source: MirrorSource, mirror: Mirror, feed: Feed, generations: Generations, comparison: Comparison
    ) -> None:
        self._source = source
        self._mirror = mirror
        self._digests = MirrorDigests(mirror)
        self._feed = feed
        self._generations = generations
        self._comparison = comparison

    async def schema(self) -> list[Difference]:
        """Return what is wrong with constraints and indexes, and with the state that the workers keep in the mirror."""
        return [*await self._comparison.schema(), *await self._wrong_checkpoints()]

    async def _wrong_checkpoints(self) -> list[Difference]:
        """Return one difference if the mirror's checkpoints disagree with Postgres; the leader begins a rebuild then.

        Before the mirror has been filled once there are none to compare, and while one is being filled or rewritten
        they may be of either generation.
        """
        whole = (await self._generations.numbers()).whole
        if whole == 0 or await self._generations.unfinished():
            return []
        positions = await self._feed.exact_positions()  # before the checkpoints, which are ahead of them
        mismatch = await find_mismatch(
            positions, self._mirror.checkpoints, self._source, self._generations, generation=whole
        )
        if mismatch is None or (await self._generations.numbers()).whole != whole:
            return []
        return [Difference(drift=Drift.EDITED, subject=Subject.STATE, detail=mismatch.reason)]

    async def page(self, phase: ScrubPhase, after: ScanPosition | None) -> ComparedPage:
        """Compare the next page of a phase in full, of all tenants; its differences are not confirmed."""
        return await self._comparison.page(phase, after)

    async def estimate(self, tenant: int | None, *, deep: bool = True) -> int:
        """Return about how many rows, nodes and relationships `verify` compares."""
        rows = await self._source.estimate(tenant)
        if not deep:
            return rows
        return rows + await self._comparison.count_elements()

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
            for kind in ROWS:
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
        deep: bool,
        within_s: float = CATCH_UP_S,
        on_rows: Callable[[int], None] | None = None,
    ) -> Verification:
        """Compare one tenant or, with None, all: the stored versions and digests of its rows, or, if `deep`, all.

        Constraints are compared with either. Before a difference is reported, waits up to `within_s` seconds until the
        changes committed so far are applied; after that time it is reported anyway, with `settled` False. `on_rows` is
        called after each page with the number of its rows, nodes or relationships.
        """
        schema = await self.schema()
        if deep:
            found = await self._verify_deep(tenant, within_s, on_rows or _ignore, schema)
        else:
            found = await self._verify_digests(tenant, within_s, on_rows or _ignore)
        return replace(found, differences=[*schema, *found.differences])

    async def _verify_digests(
        self, tenant: int | None, within_s: float, on_rows: Callable[[int], None]
    ) -> Verification:
        rows = 0
        unequal: list[Bucket] = []
        async for checked in self.check_buckets(tenant):
            rows += checked.rows
            if not checked.equal:
                unequal.append(checked.bucket)
            on_rows(checked.rows)
        try:
            found, settled = await self.confirm_differences(unequal, within_s=within_s), True
        except TimeoutError:
            found, settled = [one for bucket in unequal for one in await self.differences(bucket)], False
        return Verification(rows=rows, elements=0, differences=found, complete=False, settled=settled)

    async def _verify_deep(
        self, tenant: int | None, within_s: float, on_rows: Callable[[int], None], schema: Sequence[Difference]
    ) -> Verification:
        rows = elements = 0
        found: list[Difference] = []
        without_index = await self._comparison.phases_without_index(schema)
        for phase in PHASES:
            if phase in without_index:
                continue
            after, more = None, True
            while more:
                page = await self._comparison.page(phase, after, tenant=tenant)
                if phase in (ScrubPhase.RECORDS, ScrubPhase.RELATIONS):
                    rows += page.rows
                else:
                    elements += page.rows
                found += page.differences
                on_rows(page.rows)
                after, more = page.end, page.end is not None
        try:
            found, settled = await self.confirm(found, within_s=within_s), True
        except TimeoutError:
            settled = False
        return Verification(
            rows=rows, elements=elements, differences=found, complete=not without_index, settled=settled
        )

    async def confirm(self, differences: Sequence[Difference], *, within_s: float) -> list[Difference]:
        """Return those of the differences that remain once the changes committed before the call are applied.

        Raises TimeoutError if no worker applies them within `within_s` seconds.
        """
        if not differences:
            return []
        await self.wait_until_applied(within_s=within_s)
        seen = {(one.key, one.version) for one in differences}
        return [one for one in await self._comparison.still_there(differences) if (one.key, one.version) in seen]

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
                        subject=Subject.RECORD if bucket.kind is Kind.RECORD else Subject.RELATION,
                        tenant=bucket.tenant,
                        id=id_,
                        version=truth[id_].version if id_ in truth else None,
                        mirrored=mirror[id_].version if id_ in mirror else None,
                    )
                )
        return found

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


def _ignore(rows: int) -> None:
    """Do nothing after a page."""


def _compare(truth: RowDigest | None, mirror: RowDigest | None) -> Drift | None:
    if truth is None:
        return Drift.ORPHAN
    if mirror is None:
        return Drift.MISSING
    if mirror.version != truth.version:
        return Drift.STALE if mirror.version < truth.version else Drift.AHEAD
    return Drift.DIFFERENT if mirror.digest != truth.digest else None


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
