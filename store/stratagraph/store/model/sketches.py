"""Sketches of sets of words, by which texts are compared without reading them.

A sketch is the SKETCH smallest of a record's term numbers. These are keyed hashes, so they are a random sample of the
words, and two sketches tell how far two sets of words resemble each other (A. Broder, "On the resemblance and
containment of documents", 1997; E. Cohen and H. Kaplan, "Summarizing data using bottom-k sketches", 2007). A record of
fewer terms is compared exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from struct import unpack_from
from typing import TypeAlias

SKETCH = 48  # terms; with more, the standard error of a resemblance of 0.9 is 0.04
_HEADER = 20  # bytes of an array in PostgreSQL's binary form, before its elements of 4 + 4 bytes each

Sketch: TypeAlias = frozenset[int]


def sketch_of(numbers: Sequence[int]) -> Sketch:
    """Return the sketch of a record, given its term numbers in ascending order."""
    return frozenset(numbers[:SKETCH])


def stored_sketch(array: bytes) -> Sketch:
    """Return the sketch in the bytes that `array_send` gives of an array of integers."""
    if len(array) < _HEADER:  # an empty array has no dimensions
        return frozenset()
    return frozenset(unpack_from(">" + "4xi" * ((len(array) - _HEADER) // 8), array, _HEADER))


def resemblance(one: Sketch, other: Sketch) -> float:
    """Return the number of words in both sets over that of words in either (Jaccard), from 0 to 1; 0 for empty sets.

    It is an estimate where a set has more than SKETCH words.
    """
    shared = one & other
    if not shared:
        return 0.0
    if len(one) < SKETCH and len(other) < SKETCH:
        return len(shared) / (len(one) + len(other) - len(shared))
    either = sorted(one | other)[:SKETCH]
    return sum(1 for term in shared if term <= either[-1]) / len(either)


def resembles(one: Sketch, other: Sketch, least: float) -> bool:
    """Return whether the resemblance is at least `least`, above 0. The sizes alone often tell that it is not."""
    fewer, more = (len(one), len(other)) if len(one) < len(other) else (len(other), len(one))
    return fewer >= least * more and resemblance(one, other) >= least


def first_terms(sketch: Sketch, least: float, *, often: Mapping[int, int]) -> Sequence[int]:
    """Return first terms of a sketch: two sketches with a resemblance of `least` or more have one of them in common.

    Each of n terms has at least n · least in common with the other, so that fewer than are returned come before the
    first of these (prefix filtering: S. Chaudhuri et al., "A primitive operator for similarity joins in data cleaning",
    2006). Those come first that fewest sketches have, as `often` counts. Of sets of more than SKETCH words, this fails
    for one in 10⁵.
    """
    first = len(sketch) - ceil(least * len(sketch)) + 1
    return sorted(sketch, key=lambda term: (often[term], term))[:first]
