"""What is recorded of each request, for metrics and traces: never a document, a variable, a credential or an answer.

The names of operations are chosen by clients, so they are not recorded either: an operation is known by its root
fields, of which the schema has a fixed number.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
)
from graphql.language.ast import SelectionSetNode
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from strawberry.extensions import SchemaExtension

ROUTES = ("/graphql", "/artifacts", "/graphiql", "/healthz", "/readyz", "/metrics", "/static", "/")
OTHER = "other"
INTROSPECTION = "introspection"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})


@dataclass(slots=True)
class RequestRecord:
    """What is recorded of one request.

    `route` is one of ROUTES or OTHER. `status` is that of the response, 0 before it. `kind` is query or mutation, and
    `fields` are the root fields, of a valid GraphQL operation. `codes` are those of the errors in the answer.
    """

    route: str = OTHER
    method: str = OTHER
    status: int = 0
    seconds: float = 0.0
    kind: str | None = None
    fields: tuple[str, ...] = ()
    codes: list[str] = field(default_factory=list)

    @property
    def operation(self) -> str | None:
        """The root field of the operation, `several` for more than one; None without a valid operation."""
        if not self.fields:
            return None
        return self.fields[0] if len(self.fields) == 1 else "several"


class Telemetry:
    """Receives what is recorded of requests. This one drops it."""

    def observing(self, record: RequestRecord, headers: Mapping[str, str]) -> AbstractContextManager[None]:
        """Return the context in which a request is served. At its end the record is complete.

        `headers` has `traceparent` and `tracestate`, where the client sent them.
        """
        return nullcontext()


class RecordRequests:
    """ASGI middleware that records each HTTP request. Inner parts find the record in `scope["state"]["record"]`."""

    def __init__(self, app: ASGIApp, *, telemetry: Telemetry) -> None:
        self._app = app
        self._telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        method = scope["method"]
        record = RequestRecord(route=_route(scope["path"]), method=method if method in _METHODS else OTHER)
        scope.setdefault("state", {})["record"] = record
        began = time.perf_counter()

        async def recorded(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
            await send(message)

        with self._telemetry.observing(record, _trace_headers(scope)):
            try:
                await self._app(scope, receive, recorded)
            finally:
                record.seconds = time.perf_counter() - began


def _route(path: str) -> str:
    if path in ROUTES:
        return path
    first = "/" + path.split("/", 2)[1] if path.startswith("/") else path
    return first if first in ("/artifacts", "/static") else OTHER


def _trace_headers(scope: Scope) -> dict[str, str]:
    wanted = (b"traceparent", b"tracestate")
    return {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in wanted}


class RecordOperation(SchemaExtension):
    """Records the kind and the root fields of an operation that is valid. Costs once per operation, not per field."""

    def on_execute(self) -> Iterator[None]:
        execution = self.execution_context
        document = execution.graphql_document
        if document is not None:
            record: RequestRecord = execution.context.record
            record.kind, record.fields = root_fields(document, execution.operation_name)
        yield


def root_fields(document: DocumentNode, operation_name: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Return the kind and the distinct root fields, sorted, of the operation of a valid document that is executed."""
    fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
    for operation in document.definitions:
        if isinstance(operation, OperationDefinitionNode) and (
            operation_name is None or (operation.name is not None and operation.name.value == operation_name)
        ):
            found: set[str] = set()
            _collect(operation.selection_set, fragments, found, set())
            return operation.operation.value, tuple(sorted(found))
    return None, ()


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
