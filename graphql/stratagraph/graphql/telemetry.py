"""The receiver of what is recorded of requests, and the recording of operations by their root fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    OperationDefinitionNode,
    get_operation_ast,
)
from graphql.language.ast import SelectionSetNode
from strawberry.extensions import SchemaExtension

from stratagraph.graphql.request_record import MAX_OPERATION_NAME, RequestRecord
from stratagraph.store.model.errors import InvalidInput, StratagraphError

INTROSPECTION = "introspection"


class Telemetry:
    """Receives what is recorded of requests. This one drops it."""

    def observing(self, record: RequestRecord, headers: Mapping[str, str]) -> AbstractContextManager[None]:
        """Return the context in which a request is served. At its end the record is complete.

        `headers` has `traceparent` and `tracestate`, where the client sent valid ones.
        """
        return nullcontext()


class RecordOperation(SchemaExtension):
    """Records kind, root fields and name of an operation that is valid. Costs once per operation, not per field."""

    def on_execute(self) -> Iterator[None]:
        execution = self.execution_context
        document = execution.graphql_document
        operation = None if document is None else get_operation_ast(document, execution.operation_name)
        if document is not None and operation is not None:
            record: RequestRecord = execution.context.record
            record_operation(record, document, operation)
            with record.executing():
                yield
                record.failure = _first_code(getattr(execution.result, "errors", None))
        else:
            yield


def _first_code(errors: Sequence[GraphQLError] | None) -> str | None:
    if not errors:
        return None
    original = errors[0].original_error
    if isinstance(original, StratagraphError):
        return original.code
    return InvalidInput.code if original is None or isinstance(original, GraphQLError) else StratagraphError.code


def record_operation(record: RequestRecord, document: DocumentNode, operation: OperationDefinitionNode) -> None:
    """Record kind, root fields and name of an operation of a valid document."""
    record.kind, record.fields = operation.operation.value, root_fields(document, operation)
    record.name = operation.name.value[:MAX_OPERATION_NAME] if operation.name is not None else None


def root_fields(document: DocumentNode, operation: OperationDefinitionNode) -> tuple[str, ...]:
    """Return the distinct root fields, sorted, of an operation of a valid document."""
    fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
    found: set[str] = set()
    _collect(operation.selection_set, fragments, found, set())
    return tuple(sorted(found))


def _collect(
    selections: SelectionSetNode, fragments: Mapping[str, FragmentDefinitionNode], found: set[str], seen: set[str]
) -> None:
    for node in selections.selections:
        if isinstance(node, FieldNode):
            name = node.name.value
            found.add(INTROSPECTION if name.startswith("__") else name)
        elif isinstance(node, FragmentSpreadNode):
            if node.name.value not in seen:
                seen.add(node.name.value)
                _collect(fragments[node.name.value].selection_set, fragments, found, seen)
        elif isinstance(node, InlineFragmentNode):
            _collect(node.selection_set, fragments, found, seen)
