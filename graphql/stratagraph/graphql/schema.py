"""The schema, and the limits on the size of a document."""

from __future__ import annotations

import strawberry
from graphql import GraphQLError, GraphQLInputObjectType, lexicographic_sort_schema, print_schema
from graphql import build_schema as parsed_schema
from strawberry.schema.config import StrawberryConfig
from strawberry.schema.schema_converter import GraphQLCoreConverter
from strawberry.types.execution import ExecutionContext

from stratagraph.graphql.change_fields import Subscription
from stratagraph.graphql.documents import BoundedDocuments, Documents
from stratagraph.graphql.limits.extension import FairUseExtension
from stratagraph.graphql.limits.slices import SlicedExecution
from stratagraph.graphql.mutations import Mutation
from stratagraph.graphql.queries import Query
from stratagraph.graphql.scalars import SCALARS
from stratagraph.graphql.telemetry import RecordOperation
from stratagraph.graphql.types import errors
from stratagraph.graphql.variable_bounds import BoundedVariables


class Schema(strawberry.Schema):
    """Strawberry's schema without its log of errors, which quotes documents and values.

    `masking.coded` logs the internal errors, and the access log has a line for each request. `documents` parses and
    validates for it.
    """

    documents: Documents

    def process_errors(
        self,
        errors: list[GraphQLError],
        execution_context: ExecutionContext | None = None,
    ) -> None:
        return


def build_schema() -> Schema:
    """Return the executable schema, with the limits applied to every document."""
    schema = Schema(
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=[errors.MemoryError],
        extensions=[lambda: BoundedDocuments(documents), RecordOperation, BoundedVariables, FairUseExtension],
        execution_context_class=SlicedExecution,
        exception_handlers=errors.HANDLERS,
        config=StrawberryConfig(scalar_map=SCALARS),
    )
    _mark_one_of(schema)
    documents = schema.documents = Documents(schema._schema)
    return schema


def _mark_one_of(schema: Schema) -> None:
    """Have graphql-core refuse values of @oneOf inputs with none or several fields.

    Strawberry refuses them only where it converts the value, which inputs that are built by one call leave out.
    """
    for type_ in schema._schema.type_map.values():
        definition = type_.extensions.get(GraphQLCoreConverter.DEFINITION_BACKREF)
        if isinstance(type_, GraphQLInputObjectType) and definition is not None:
            type_.is_one_of = definition.is_one_of


def sdl() -> str:
    """Return the schema in its definition language, as committed in `schema.graphql`: sorted, so that a change of it
    shows as a change of these lines only.
    """
    return print_schema(lexicographic_sort_schema(parsed_schema(build_schema().as_str()))) + "\n"
