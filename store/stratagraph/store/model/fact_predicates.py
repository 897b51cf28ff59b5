"""The predicates of facts known without registration: what their objects are, and which have one value at a time.

A tenant's own registration (table `fact_predicate`) replaces the entry of a predicate here. No I/O.
See docs/specification.md, Entities.
"""

from __future__ import annotations

from dataclasses import dataclass

ENTITY, LITERAL = "entity", "literal"
OBJECT_KINDS = (ENTITY, LITERAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPredicate:
    """What is known of the facts of one predicate.

    With `single_valued`, a new slot (one subject with this predicate) begins as single-valued. `object_kind` is ENTITY
    where the objects name entities, LITERAL where they never do, and None where each object is judged by its form.
    """

    single_valued: bool = False
    object_kind: str | None = None


UNKNOWN = FactPredicate()  # of a predicate that nobody registered

_ENTITIES = (
    "assigned_to",
    "authored_by",
    "belongs_to",
    "born_in",
    "child_of",
    "created_by",
    "depends_on",
    "employed_by",
    "founded_by",
    "knows",
    "led_by",
    "lives_in",
    "located_in",
    "maintained_by",
    "maintains",
    "managed_by",
    "manages",
    "married_to",
    "member_of",
    "owned_by",
    "owns",
    "parent_of",
    "part_of",
    "reports_to",
    "studied_at",
    "uses",
    "works_at",
    "works_for",
    "works_on",
    "works_with",
)
_LITERALS = (
    "color",
    "colour",
    "count",
    "deadline",
    "description",
    "due_date",
    "email",
    "email_address",
    "favorite_color",
    "favourite_colour",
    "height",
    "phone",
    "phone_number",
    "prefers",
    "price",
    "priority",
    "size",
    "status",
    "version",
    "weight",
)
# A second value of these supersedes the first, so only predicates that can never have two values are listed.
_SINGLE_LITERALS = ("age", "birth_date", "birthday", "born_on", "date_of_birth", "time_zone", "timezone")

BUILT_IN: dict[str, FactPredicate] = {
    **{name: FactPredicate(object_kind=ENTITY) for name in _ENTITIES},
    **{name: FactPredicate(object_kind=LITERAL) for name in _LITERALS},
    **{name: FactPredicate(object_kind=LITERAL, single_valued=True) for name in _SINGLE_LITERALS},
}
