"""The types of entities that exclude each other. Any other type is a hint that decides nothing. No I/O.

Types are an open list, and an extractor calls one thing a project today and a product tomorrow. Only a few of the words
that are used as types tell a kind of thing that nothing of another kind can be. See docs/specification.md, Entities.
"""

from __future__ import annotations

from collections.abc import Collection

from stratagraph.store.model.canonical import unaccented

_NO_TYPE = "other"  # says nothing, as no type does

# The types that tell a kind, as types are compared.
KIND_OF = {
    type_: kind
    for kind, types in {
        "person": ("person", "human", "individual", "man", "woman", "boy", "girl", "employee"),
        "organization": (
            "organization", "organisation", "company", "corporation", "firm", "agency", "institution", "team",
            "department",
        ),
        "geography": (
            "city", "town", "village", "country", "continent", "region", "island", "mountain", "river", "lake", "sea",
            "ocean", "planet",
        ),
        "place": ("place", "location", "venue", "building", "address"),
        "work": (
            "project", "product", "application", "app", "software", "service", "tool", "library", "framework",
            "package", "repository", "file", "document", "book", "film", "movie", "song", "album", "game", "website",
            "url", "issue",
        ),
    }.items()
    for type_ in types
}  # fmt: skip
# What is called an organization or a place may be called a work by another extractor, or each the other.
EXCLUDES = {
    "person": frozenset({"organization", "geography", "place", "work"}),
    "organization": frozenset({"person", "geography"}),
    "geography": frozenset({"person", "organization", "work"}),
    "place": frozenset({"person"}),
    "work": frozenset({"person", "geography"}),
}


def folded_type(name: str | None) -> str | None:
    """Return a type as types are compared; None for no type, and for `Other`.

    >>> folded_type("Product"), folded_type(" other"), folded_type(None)
    ('product', None, None)
    """
    folded = unaccented(name or "")
    return None if folded in ("", _NO_TYPE) else folded


def exclude(some: Collection[str], others: Collection[str]) -> bool:
    """Return whether what has the types `some` cannot be what has the types `others`; all are as types are compared.

    So it is if both have types that tell a kind, no type of both is equal, and each kind of the one excludes each kind
    of the other.

    >>> exclude({"person"}, {"city"}), exclude({"project"}, {"product"}), exclude({"person", "pilot"}, {"pilot"})
    (True, False, False)
    """
    if not set(some).isdisjoint(others):
        return False
    ours, theirs = ({KIND_OF[one] for one in types if one in KIND_OF} for types in (some, others))
    return bool(ours and theirs) and all(theirs <= EXCLUDES[kind] for kind in ours)


def excluded_by(type_: str) -> frozenset[str]:
    """Return the types that tell a kind which `type_`, as types are compared, excludes."""
    excluded = EXCLUDES.get(KIND_OF.get(type_, ""), frozenset())
    return frozenset(one for one, kind in KIND_OF.items() if kind in excluded)
