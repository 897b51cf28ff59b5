"""Whether both stores show the same: bucket by bucket in sums, then row by row, and some rows in all they show.

A bucket is a run of one tenant's keys, so that either side finds it by the index it has. What differs may only be on
its way; it counts once the feed has passed the instant at which it was seen, and the truth has not changed since.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from stratagraph.graph_sync.mapping import node, plan, relation
from stratagraph.graph_sync.mirror import Mirror
from stratagraph.store.feed.consumer import Change, Feed, Kind
from stratagraph.store.keys.tenancy import Directory
from stratagraph.store.mirror.generations import Generations
from stratagraph.store.mirror.source import FIRST_ID, MirrorSource, Told

BUCKET = {Kind.RECORD: 4_096, Kind.RELATION: 16_384}  # rows; relations are seldom looked at one by one
SAMPLE = 0.001  # of the rows are compared in all that they show
CATCH_UP_S = 60.0
_PAUSE_S = 0.05


class Drift(StrEnum):
    """In which way the mirror differs from the truth."""

    MISSING = "missing"  # the truth has it, the mirror does not
    ORPHAN = "orphan"  # the mirror has it, the truth does not
    STALE = "stale"  # the mirror has an older version
    AHEAD = "ahead"  # the mirror has a version that the truth has never had, or has no more
    DIFFERENT = "different"  # the same version, written from another state or under other settings
    EDITED = "edited"  # somebody else has written into the mirror


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Keys of a tenant after one and up to another; None is without end."""

    kind: Kind
    tenant: int
    after: UUID
    upto: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One row of which the two stores do not say the same. `version` is the truth's, `mirrored` the mirror's."""

    drift: Drift
    kind: Kind
    tenant: int
    id: UUID
    version: int | None
    mirrored: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One bucket: how many rows the truth has there, and whether the sums are equal."""

    bucket: Bucket
    rows: int
    equal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What comparing everything found. `settled` is False where nobody applied what was on its way meanwhile, so that
    some of the differences may be no more than that."""

    rows: int
    buckets: int
    differences: Sequence[Difference]
    settled: bool = True

    @property
    def equal(self) -> bool:
        return not self.differences


class Checker:
    """Compares the two stores. Changes nothing but the log, when it is told to repair."""

    def __init__(
        self, source: MirrorSource, mirror: Mirror, feed: Feed, generations: Generations, directory: Directory
    ) -> None:
        self._source = source
        self._mirror = mirror
        self._feed = feed
        self._generations = generations
        self._directory = directory

    async def tenants(self, after: int) -> int | None:
        """The next tenant of which either side has anything."""
        found = [await self._source.next_tenant(after), await self._mirror.next_tenant(after)]
        return min((tenant for tenant in found if tenant is not None), default=None)

    async def check(self, kind: Kind, tenant: int, after: UUID) -> Checked:
        """Compare the sums of a tenant's next bucket."""
        truth = await self._source.sums(kind, tenant, after, size=BUCKET[kind])
        bucket = Bucket(kind=kind, tenant=tenant, after=after, upto=truth.last)
        mirror = await self._mirror.sums(kind, tenant, after, truth.last)
        equal = (truth.count, truth.versions, truth.digests) == (mirror.count, mirror.versions, mirror.digests)
        return Checked(bucket=bucket, rows=truth.count, equal=equal)

    async def walk(self, tenant: int | None = None) -> AsyncIterator[Checked]:
        """Every bucket, of one tenant or of all."""
        current = tenant if tenant is not None else await self.tenants(-1)
        while current is not None:
            for kind in Kind:
                after: UUID | None = FIRST_ID
                while after is not None:
                    checked = await self.check(kind, current, after)
                    yield checked
                    after = checked.bucket.upto
            current = await self.tenants(current) if tenant is None else None

    async def verify(
        self,
        tenant: int | None = None,
        *,
        share: float = SAMPLE,
        within_s: float = CATCH_UP_S,
        on_bucket: Callable[[Checked], None] | None = None,
    ) -> Verified:
        """Compare everything, or one tenant's: all sums, and a `share` of the rows in all that they show."""
        rows = buckets = 0
        unequal: list[Bucket] = []
        edited: list[Difference] = []
        async for checked in self.walk(tenant):
            rows, buckets = rows + checked.rows, buckets + 1
            if not checked.equal:
                unequal.append(checked.bucket)
            edited += await self.edited(checked.bucket, share=share)
            if on_bucket is not None:
                on_bucket(checked)
        try:
            found, settled = await self.confirmed(unequal, within_s=within_s), True
        except TimeoutError:
            found, settled = [one for bucket in unequal for one in await self.differences(bucket)], False
        known = {(one.kind, one.tenant, one.id) for one in found}
        found += [one for one in edited if (one.kind, one.tenant, one.id) not in known]
        return Verified(rows=rows, buckets=buckets, differences=found, settled=settled)

    async def differences(self, bucket: Bucket) -> list[Difference]:
        """What differs in a bucket now, row by row, be it only on its way."""
        mirror = await self._mirror.told(bucket.kind, bucket.tenant, bucket.after, bucket.upto)
        truth = await self._source.told(bucket.kind, bucket.tenant, bucket.after, bucket.upto)
        found = []
        for id_ in sorted(truth.keys() | mirror.keys()):
            drift = _compared(truth.get(id_), mirror.get(id_))
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

    async def edited(
        self, bucket: Bucket, *, share: float = SAMPLE, luck: random.Random | None = None
    ) -> list[Difference]:
        """Of a sample of the bucket's rows, at least one: those that show anything else than was written."""
        truth = await self._source.told(bucket.kind, bucket.tenant, bucket.after, bucket.upto)
        if not truth:
            return []
        wanted = min(len(truth), max(1, round(share * len(truth))))
        ids = (luck or random).sample(sorted(truth), wanted)
        rows = await self._source.rows(bucket.kind, [(bucket.tenant, id_) for id_ in ids])
        shown = (
            await self._edited_nodes(bucket.tenant, rows)
            if bucket.kind is Kind.RECORD
            else await self._edited_relations(bucket.tenant, rows)
        )
        versions = {row["id"]: row["row_version"] for row in rows}
        return [
            Difference(
                drift=Drift.EDITED,
                kind=bucket.kind,
                tenant=bucket.tenant,
                id=id_,
                version=versions[id_],
                mirrored=versions[id_],
            )
            for id_ in shown
        ]

    async def _edited_nodes(self, tenant: int, rows: Sequence[Mapping[str, Any]]) -> list[UUID]:
        names_up_to = self._source.names_up_to
        shown = {found["id"]: found for found in await self._mirror.shown_nodes(tenant, [row["id"] for row in rows])}
        edited = []
        for row in rows:
            found = shown.get(str(row["id"]))
            if found is None or found["p"].get("ver") != row["row_version"]:
                continue  # not edited but missing or of another version, which its bucket's sums tell
            wanted = node(row, generation=0, names_up_to=names_up_to)
            steps = plan(row, names_up_to=names_up_to) or {"steps": [], "control": [], "data": [], "acl": None}
            if (
                _properties(found["p"]) != _properties(wanted["p"])
                or sorted(found["labels"]) != sorted({"Mirrored", *wanted["labels"]})
                or _steps_found(found) != _steps_wanted(steps)
            ):
                edited.append(row["id"])
        return edited

    async def _edited_relations(self, tenant: int, rows: Sequence[Mapping[str, Any]]) -> list[UUID]:
        names = await self._directory.predicate_names({(row["tenant"], row["predicate"]) for row in rows})
        edited = []
        for predicate in sorted({names[row["tenant"], row["predicate"]] for row in rows}):
            alike = [row for row in rows if names[row["tenant"], row["predicate"]] == predicate]
            found = await self._mirror.shown_relations(tenant, predicate, [row["id"] for row in alike])
            shown = {one["id"]: one for one in found}
            for row in alike:
                one = shown.get(str(row["id"]))
                if one is None or one["p"].get("ver") != row["row_version"] or row["ended_at"] is not None:
                    continue
                wanted = relation(row, generation=0)
                if (one["source"], one["target"], _properties(one["p"])) != (
                    wanted["src"],
                    wanted["dst"],
                    _properties(wanted["p"]),
                ):
                    edited.append(row["id"])
        return edited

    async def confirmed(self, buckets: Iterable[Bucket], *, within_s: float = CATCH_UP_S) -> list[Difference]:
        """What differs in these buckets for good. Raises TimeoutError where nobody follows the feed."""
        chosen = list(buckets)
        first = {bucket: await self.differences(bucket) for bucket in chosen}
        if not any(first.values()):
            return []
        await self.caught_up(within_s=within_s)
        confirmed = []
        for bucket, before in first.items():
            seen = {(one.id, one.version) for one in before}
            confirmed += (
                [one for one in await self.differences(bucket) if (one.id, one.version) in seen] if seen else []
            )
        return confirmed

    async def caught_up(self, *, within_s: float) -> None:
        """Wait until everything committed by now is applied. Raises TimeoutError."""
        async with asyncio.timeout(within_s):
            newest = await self._feed.mark()
            while not await self._feed.has_passed(newest) or await self._is_being_filled():  # noqa: ASYNC110 - elsewhere
                await asyncio.sleep(_PAUSE_S)

    async def _is_being_filled(self) -> bool:
        """Then the cursors stand at the present, and most of the past is yet to be written."""
        return any(one.state == "building" for one in await self._generations.open())

    async def repair(self, differences: Sequence[Difference]) -> int:
        """Ask for these rows to be written again, through the log: whoever follows it does. Returns how many."""
        by_tenant: dict[int, list[Change]] = {}
        for one in differences:
            version = max(one.version or 0, one.mirrored or 0)
            by_tenant.setdefault(one.tenant, []).append(Change(kind=one.kind, id=one.id, version=version, op="R"))
        for tenant, changes in sorted(by_tenant.items()):
            await self._source.ask_again(tenant, changes)
        return len(differences)


def counted(differences: Iterable[Difference]) -> dict[str, int]:
    return dict(Counter(str(one.drift) for one in differences))


def _compared(truth: Told | None, mirror: Told | None) -> Drift | None:
    if truth is None:
        return Drift.ORPHAN
    if mirror is None:
        return Drift.MISSING
    if mirror.version != truth.version:
        return Drift.STALE if mirror.version < truth.version else Drift.AHEAD
    return Drift.DIFFERENT if mirror.digest != truth.digest else None


def _properties(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Comparable: times as the driver was given them, and without the generation, which says when it was written."""
    return {
        name: value.to_native() if hasattr(value, "to_native") else value
        for name, value in properties.items()
        if name != "gen"
    }


def _steps_found(found: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    return (
        sorted((step["id"], step["op"], step["acl"]) for step in found["steps"] if step["id"] is not None),
        sorted((link["source"], link["target"], link["kind"]) for link in found["links"] if link["source"] is not None),
    )


def _steps_wanted(steps: Mapping[str, Any]) -> tuple[list[Any], list[Any]]:
    links = [("PRECEDES", link) for link in steps["control"]] + [("FEEDS", link) for link in steps["data"]]
    return (
        sorted((step["id"], step["op"], steps["acl"]) for step in steps["steps"]),
        sorted((link["source"], link["target"], kind) for kind, link in links),
    )
