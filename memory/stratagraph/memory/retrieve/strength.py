"""How much of a question a record covers. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def strength(weights: Sequence[float], covered: int) -> float:
    """Return the share of the question's weighted terms that a record covers, from 0 to 1; 0 without terms.

    `weights` are the rarities of the terms, and bit n of `covered` is set where the record has term n.
    """
    total = sum(weights)
    if total <= 0:
        return 0.0
    return sum(weight for place, weight in enumerate(weights) if covered >> place & 1) / total


def covered_terms(terms: Sequence[int], present: Iterable[int]) -> int:
    """Return which of `terms` are `present`, as the bits that `strength` takes."""
    found = set(present)
    return sum(1 << place for place, term in enumerate(terms) if term in found)
