"""The schema, and the limits on the size of a document."""

from __future__ import annotations

import strawberry
from strawberry.extensions import MaxAliasesLimiter, MaxTokensLimiter, ParserCache, QueryDepthLimiter, ValidationCache
from strawberry.extensions.add_validation_rules import AddValidationRules
from strawberry.schema.config import StrawberryConfig

from stratagraph.graphql.limits.extension import FairUseExtension
from stratagraph.graphql.limits.slices import SlicedExecution
from stratagraph.graphql.mutations import Mutation
from stratagraph.graphql.queries import Query
from stratagraph.graphql.scalars import SCALARS
from stratagraph.graphql.types import errors

MAX_TOKENS = 2_000  # of a document; long values are sent as variables
MAX_DEPTH = 12
MAX_ALIASES = 20

# Built once, since the rules are part of the validation cache's key: rules built per request would never hit the cache.
_RULES = [
    *QueryDepthLimiter(max_depth=MAX_DEPTH).validation_rules,
    *MaxAliasesLimiter(max_alias_count=MAX_ALIASES).validation_rules,
]


def build_schema() -> strawberry.Schema:
    """Return the executable schema, with the limits applied to every document."""
    return strawberry.Schema(
        query=Query,
        mutation=Mutation,
        types=[errors.MemoryError],
        extensions=[
            ParserCache,
            lambda: AddValidationRules(_RULES),
            lambda: MaxTokensLimiter(max_token_count=MAX_TOKENS),
            ValidationCache,
            FairUseExtension,
        ],
        execution_context_class=SlicedExecution,
        exception_handlers=errors.HANDLERS,
        config=StrawberryConfig(scalar_map=SCALARS),
    )


def sdl() -> str:
    """Return the schema in its definition language, as committed in `schema.graphql`."""
    return build_schema().as_str() + "\n"
