"""The registry of relation predicates and their inverses. See docs/specification.md, Relations.

A relation is stored once, in the direction of its predicate; the inverse names the same relation read from its target.
"""

from __future__ import annotations

import re

from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.unicode_forms import normalised
from stratagraph.store.model.visible_text import says_something

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
# Relations that the system writes itself, as the lineage and the names of records.
LINEAGE = frozenset(
    {
        "supersedes",
        "contested_by",
        "merged_into",
        "forked_from",
        "subject_entity",
        "object_entity",
        "mentions_entity",
        "part_of",
        "follows",
        *DERIVATIONS,
    }
)
_FORWARD_OF = {inverse: name for name, inverse in INVERSES.items()}
MAX_FACT_PREDICATE = 2_000  # characters of the predicate of a fact
FORM = "[a-z][a-z0-9_]{0,62}"  # a regular expression for Python and PostgreSQL
_INVERSE_PREFIX = "inverse_of:"
_WORD_BREAK = re.compile(r"[\s_\-\u2010-\u2015]+")
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_INSTEAD = {
    **dict.fromkeys(DERIVATIONS, "name the source in content.evidence, as {kind, ref} with the record's id as ref"),
    "mentions_entity": "name the entity in context.mentions",
    "subject_entity": "name the entity as the subject of a fact",
    "object_entity": "name the entity as the object of a fact",
    "part_of": "give the thread as content.thread_id",
    "follows": "give the thread as content.thread_id",
}


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


def is_free(predicate: str) -> bool:
    """Return whether a predicate is neither in the registry nor written by the system.

    >>> is_free("reviews"), is_free("inverse_of:reviews"), is_free("has_part"), is_free("merged_into")
    (True, True, False, False)
    """
    forward, _ = stored_direction(predicate)
    return forward not in INVERSES and forward not in LINEAGE


def check_predicate(predicate: str, *, path: list[str]) -> str:
    """Return the predicate unchanged. Raises InvalidInput, naming `path`, if it cannot name a relationship type."""
    if not re.fullmatch(FORM, predicate):
        raise InvalidInput(
            f"{'.'.join(path)}: {shown(predicate)} is not a predicate;"
            " use lower-case words joined by _, at most 63 characters",
            path=path,
        )
    return predicate


def reference_predicate(predicate: str, *, path: list[str]) -> str:
    """Return the predicate of a caller's reference unchanged.

    Raises InvalidInput, naming `path`, if it cannot name a relationship type or is written by the system only.
    """
    forward, _ = stored_direction(predicate)
    if forward in LINEAGE:
        instead = _INSTEAD.get(forward, "use the mutation that makes this change, such as supersede, contest or merge")
        raise InvalidInput(f"{'.'.join(path)}: {shown(predicate)} is written by the system only; {instead}", path=path)
    return check_predicate(predicate, path=path)


def fact_predicate(predicate: str) -> str:
    """Return the predicate of a fact in its one spelling: lower case, its words joined by `_`.

    Raises ValueError if it has no word, or too many characters.

    >>> [fact_predicate(text) for text in ("Works At", "works-at", "worksAt", "rdf:type", " IS ")]
    ['works_at', 'works_at', 'works_at', 'rdf:type', 'is']
    """
    text = normalised("NFKC", predicate).strip()
    if not _WORD_BREAK.search(text):
        text = _CAPITAL.sub("_", text)
    spelled = normalised("NFKC", _WORD_BREAK.sub("_", text).strip("_").lower())
    if not says_something(spelled):
        raise ValueError("must have a word, such as works_at")
    if len(spelled) > MAX_FACT_PREDICATE:
        raise ValueError(f"must have at most {MAX_FACT_PREDICATE} characters in its compatibility form")
    return spelled
