"""The registry of relation predicates and their inverses. See docs/specification.md, Relations.

A relation is stored once, in the direction of its predicate; the inverse names the same relation read from its target.
"""

from __future__ import annotations

import re

from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

INVERSES: dict[str, str] = {
    "mentions_entity": "mentioned_in",
    "references_record": "referenced_by",
    "derived_semantic": "derived_from",
    "subject_entity": "fact_subject_of",
    "object_entity": "fact_object_of",
    "depends_on": "dependency_of",
    "uses": "used_by",
    "caused_by": "causes",
    "part_of": "has_part",
    "supports": "supported_by",
    "contradicts": "contradicted_by",
    "supersedes": "superseded_by",
    "contested_by": "contests",
    "follows": "followed_by",
}
DERIVATIONS = frozenset({"derived_semantic", "supports"})  # from a source to the record derived from it
_FORWARD_OF = {inverse: name for name, inverse in INVERSES.items()}
FORM = "[a-z][a-z0-9_]{0,62}"  # a regular expression for Python and PostgreSQL
_INVERSE_PREFIX = "inverse_of:"


def inverse(predicate: str) -> str:
    """Return the name of the same relation as read from its target.

    >>> inverse("part_of"), inverse("has_part"), inverse("reviews"), inverse("inverse_of:reviews")
    ('has_part', 'part_of', 'inverse_of:reviews', 'reviews')
    """
    if predicate.startswith(_INVERSE_PREFIX):
        return predicate.removeprefix(_INVERSE_PREFIX)
    return INVERSES.get(predicate) or _FORWARD_OF.get(predicate) or _INVERSE_PREFIX + predicate


def stored_direction(predicate: str) -> tuple[str, bool]:
    """Return the name under which a predicate is stored, and whether source and target must be swapped for it."""
    if predicate.startswith(_INVERSE_PREFIX):
        forward, swapped = stored_direction(predicate.removeprefix(_INVERSE_PREFIX))
        return forward, not swapped
    if predicate in _FORWARD_OF:
        return _FORWARD_OF[predicate], True
    return predicate, False


def check_predicate(predicate: str, *, path: list[str]) -> str:
    """Return the predicate unchanged. Raises InvalidInput, naming `path`, if it cannot name a relationship type."""
    if not re.fullmatch(FORM, predicate):
        raise InvalidInput(
            f"{'.'.join(path)}: {shown(predicate)} is not a predicate;"
            " use lower-case words joined by _, at most 63 characters",
            path=path,
        )
    return predicate
