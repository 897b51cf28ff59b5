"""The registered predicates of facts."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Self

import strawberry

from stratagraph.graphql.types.errors import Refusal
from stratagraph.memory.records.predicates import MAX_NAME, RegisteredPredicate
from stratagraph.store.model.fact_predicates import ENTITY, LITERAL
from stratagraph.store.model.fact_predicates import FactPredicate as Registration


@strawberry.enum(description="What the objects of a predicate are.")
class ObjectKind(Enum):
    ENTITY = strawberry.enum_value(ENTITY, description="Names of entities, which are created where they are unknown.")
    LITERAL = strawberry.enum_value(LITERAL, description="Values that never name an entity.")
    ANY = strawberry.enum_value(
        "any", description="Each object is judged by its form: a string is linked to an entity that has this name."
    )


@strawberry.type(description="A predicate of facts, and what is registered for it.")
class FactPredicate:
    name: str = strawberry.field(description="The predicate, such as `works_at`.")
    single_valued: bool = strawberry.field(
        description="Whether a subject has one value of it at a time. A change applies to subjects that have no fact"
        " with it yet."
    )
    object_kind: ObjectKind = strawberry.field(description="What its objects are.")
    built_in: bool = strawberry.field(description="Whether this is the built-in entry; false for one of the tenant.")

    @classmethod
    def of(cls, registered: RegisteredPredicate) -> Self:
        return cls(
            name=registered.name,
            single_valued=registered.predicate.single_valued,
            object_kind=ObjectKind(registered.predicate.object_kind or ObjectKind.ANY.value),
            built_in=not registered.is_own,
        )


@strawberry.input(description="Register a predicate of facts for the tenant.")
class SetPredicateInput:
    name: str = strawberry.field(
        description=f"The predicate, from 1 to {MAX_NAME} characters; `Works At` is the same as `works_at`. Replaces a"
        " built-in entry."
    )
    single_valued: bool = strawberry.field(
        default=False,
        description="Whether a subject has one value of it at a time, so that a new value supersedes the one before."
        " Applies to subjects that have no fact with it yet.",
    )
    object_kind: ObjectKind = strawberry.field(default=ObjectKind.ANY, description="What its objects are.")

    def as_registration(self) -> Registration:
        kind = None if self.object_kind is ObjectKind.ANY else str(self.object_kind.value)
        return Registration(single_valued=self.single_valued, object_kind=kind)


@strawberry.type(description="The predicate was registered.")
class SetPredicateSuccess:
    predicate: FactPredicate = strawberry.field(description="The predicate as it is registered now.")


SetPredicateResult = Annotated[
    SetPredicateSuccess | Refusal,
    strawberry.union(
        "SetPredicateResult", description="The registered predicate, or the error that refused the registration."
    ),
]
