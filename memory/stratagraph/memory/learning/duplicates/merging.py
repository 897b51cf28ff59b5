"""Comparing the queued records of one group: what says the same is merged, what may is listed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from stratagraph.memory.learning.duplicates.finding import Entities, Facts, Found, Search
from stratagraph.memory.learning.duplicates.signals import Comparison
from stratagraph.store.learning.duplicates import ListedPair, Pair, fetch_subjects, replace_listed
from stratagraph.store.model.errors import ConditionsOverlap, InvalidInput, LimitExceeded
from stratagraph.store.postgres.database import savepoint

RATIONALE = "says the same, see docs/learning.md"
# Merges the records, the oldest first, and returns the id of the one that stands for all of them.
Merge = Callable[[Sequence[UUID]], Awaitable[UUID]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What was done: queued records taken, pairs compared, records merged into another one, pairs listed.

    `refused` counts clusters that were listed because the rules of merges refuse them, such as for too many facts.
    """

    taken: int = 0
    pairs: int = 0
    merged: int = 0
    listed: int = 0
    refused: int = 0

    def __add__(self, other: Compared) -> Compared:
        return Compared(
            taken=self.taken + other.taken,
            pairs=self.pairs + other.pairs,
            merged=self.merged + other.merged,
            listed=self.listed + other.listed,
            refused=self.refused + other.refused,
        )


async def compare_claimed(search: Search, merge: Merge, claimed: Collection[UUID], *, at: datetime) -> Compared:
    """Compare records that the present transaction has taken out of the queue of their group.

    What stands for merged records is compared in turn, so that nothing is left to be found by another run. Entities
    come first, since facts about merged entities may become equal.
    """
    done = Compared(taken=len(claimed))
    records = await search.active(claimed)
    # What has been withdrawn, or is of another group now, is the same as nothing.
    await replace_listed(search.connection, search.group, set(claimed) - records.keys(), [])
    # What is said of an entity is evidence about it.
    subjects = await fetch_subjects(search.connection, search.tenant, records)
    records |= await search.active(subjects - records.keys())
    for kind in (Entities, Facts):
        wanted: Collection[UUID] = [id_ for id_, record in records.items() if record.type is kind.type]
        while wanted:
            found = await kind(search).find(wanted)
            done += Compared(pairs=len(found.compared))
            wanted, one = await _merge(search, found, merge)
            done += one
            done += Compared(listed=await _list(search, found, at=at))
    return done


async def _merge(search: Search, found: Found, merge: Merge) -> tuple[list[UUID], Compared]:
    """Merge the clusters found; return what stands for them. A cluster that may not be merged is listed instead."""
    standing, done = [], Compared()
    for cluster in found.merges:
        try:
            search.known.clear()
            async with savepoint(search.connection):
                standing.append(await merge(cluster))
        except (LimitExceeded, InvalidInput, ConditionsOverlap):
            found.pairs |= {pair: one for pair, one in found.compared.items() if set(pair) <= set(cluster)}
            done += Compared(refused=1)
        else:
            done += Compared(merged=len(cluster) - 1)
    return standing, done


async def _list(search: Search, found: Found, *, at: datetime) -> int:
    """Store the pairs found as those to be decided on; return how many there are."""
    pairs = [_listed(pair, one, at) for pair, one in sorted(found.pairs.items())]
    await replace_listed(search.connection, search.group, found.followed, pairs)
    return len(pairs)


def _listed(pair: Pair, compared: Comparison, at: datetime) -> ListedPair:
    evidence = {weight.signal.value: weight.bits for weight in compared.weights}
    return ListedPair(one=pair[0], other=pair[1], score=compared.score, evidence=evidence, at=at)
