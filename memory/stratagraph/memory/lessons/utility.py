"""The utility of lessons, and which of them are retired. Pure.

The formula and the order are those of SkillMemory; each author has a fair share (docs/specification.md, Lessons).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from uuid import UUID

from stratagraph.memory.lessons.block import Standing

KEPT = 50  # lessons of one scope and sensitivity
CONFIDENCE, HIT_RATE, VERIFIED, FREQUENCY = 0.5, 0.8, 0.3, 0.1  # weights
STALE = -0.3  # added to the utility of a lesson that was often retrieved and hardly ever helped:
STALE_RETRIEVALS = 5  # retrievals at least,
STALE_HIT_RATE = 0.35  # and a hit rate below this
DROPPED = 0.25  # of the unhelpful lessons, retired in one call by default


def hit_rate(one: Standing) -> float:
    """Return (helpful + 1) / (retrievals + 2), the mean of the share that helps after a uniform prior (Laplace)."""
    return (one.helpful + 1) / (one.retrievals + 2)


def is_unhelpful(one: Standing, *, retrievals: int = STALE_RETRIEVALS) -> bool:
    """Return whether the lesson was retrieved at least `retrievals` times with a hit rate below STALE_HIT_RATE."""
    return one.retrievals >= retrievals and hit_rate(one) < STALE_HIT_RATE


def utility(one: Standing) -> float:
    """Return 0.5·confidence + 0.8·hit rate + 0.3·[verified] + 0.1·ln(frequency), less 0.3 for a stale lesson."""
    return (
        CONFIDENCE * one.confidence
        + HIT_RATE * hit_rate(one)
        + (VERIFIED if one.verified else 0.0)
        + FREQUENCY * math.log(one.frequency)
        + (STALE if is_unhelpful(one) else 0.0)
    )


def beyond(lessons: Mapping[UUID, Standing], *, kept: int = KEPT) -> list[UUID]:
    """Return the lessons to retire so that `kept` stay, always of an author who has the most of those that are left.

    Of the lessons of such authors, that one is retired which ranks last: the newest of all lessons stays, then verified
    ones, then those of most utility.
    """
    ranked = _by_rank(lessons)
    shares = Counter(one.author for one in lessons.values())
    retired: list[UUID] = []
    while len(ranked) > kept:
        most = max(shares.values())
        last = next(id_ for id_ in reversed(ranked) if shares[lessons[id_].author] == most)
        ranked.remove(last)
        shares[lessons[last].author] -= 1
        retired.append(last)
    return retired


def least_helpful(
    lessons: Mapping[UUID, Standing], *, retrievals: int = STALE_RETRIEVALS, fraction: float = DROPPED
) -> list[UUID]:
    """Return the part `fraction` of the unhelpful lessons, rounded up, that has the least utility."""
    found = sorted(
        (id_ for id_, one in lessons.items() if is_unhelpful(one, retrievals=retrievals)),
        key=lambda id_: (utility(lessons[id_]), lessons[id_].learned_at, id_),
    )
    return found[: math.ceil(Fraction(str(fraction)) * len(found))]


def _by_rank(lessons: Mapping[UUID, Standing]) -> list[UUID]:
    """Return the lessons in the order in which they are kept; of equal ones the newer first."""
    newest = max(lessons, key=lambda id_: (lessons[id_].learned_at, id_), default=None)

    def rank(id_: UUID) -> tuple[bool, bool, float, float, int]:
        one = lessons[id_]
        return (id_ != newest, not one.verified, -utility(one), -one.learned_at.timestamp(), -id_.int)

    return sorted(lessons, key=rank)
