"""What is recorded of one request, for the access log, metrics and traces.

Never a document, a variable, a credential or an answer: the path only as one of our routes, the operation by its root
fields, of which the schema has a fixed number. Its name, which the client chose, is for the access log alone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from uuid import UUID

from starlette.types import Scope

from stratagraph.graphql.web.request_ids import HEADER, new_request_id, request_id_of

ROUTES = (
    "/graphql",
    "/artifacts",
    "/export",
    "/v1/traces",
    "/mcp",
    "/graphiql",
    "/livez",
    "/readyz",
    "/healthz",
    "/metrics",
    "/static",
    "/",
)
OTHER = "other"
MAX_OPERATION_NAME = 64  # characters of it that are kept
_ID_HEADER = HEADER.lower().encode()
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_WITH_PATHS = ("/artifacts", "/static")  # routes with paths below them


@dataclass(slots=True)
class RequestRecord:
    """What is recorded of one request.

    `id` is the client's own, where it sent one. `route` is one of ROUTES or OTHER. `status` is that of the response, 0
    before it. `kind` is query or mutation, `fields` are the root fields and `name` is the name, of a valid GraphQL
    operation. `cost` is in points. `codes` are those of the errors in the answer; `failure` is that of the first entry
    of `errors`, once the operation was executed. `touched` is the number of records that were returned, or that were to
    be changed, where it is known, and `touched_id` the one that the request names. `executing` is the context in which
    the operation is executed. `trace_response` names the span of the request, where traces are sent.
    """

    id: str = field(default_factory=new_request_id)
    route: str = OTHER
    method: str = OTHER
    status: int = 0
    seconds: float = 0.0
    kind: str | None = None
    fields: tuple[str, ...] = ()
    name: str | None = None
    cost: float | None = None
    codes: list[str] = field(default_factory=list)
    failure: str | None = None
    touched: int | None = None
    touched_id: UUID | None = None
    executing: Callable[[], AbstractContextManager[object]] = nullcontext
    trace_response: str | None = None

    def touch(self, records: int, id_: UUID | None = None) -> None:
        """Note that a field returned, or was to change, so many records: one with the id, if it is given."""
        self.touched_id = id_ if self.touched is None else None
        self.touched = (self.touched or 0) + records

    @property
    def operation(self) -> str | None:
        """The root field of the operation, `several` for more than one; None without a valid operation."""
        if not self.fields:
            return None
        return self.fields[0] if len(self.fields) == 1 else "several"


def record_of(scope: Scope) -> RequestRecord:
    """Return a new record of the HTTP request of an ASGI scope."""
    method = scope["method"]
    given = next((value for name, value in scope["headers"] if name == _ID_HEADER), None)
    id_ = request_id_of(given.decode("latin-1") if given is not None else None)
    return RequestRecord(id=id_, route=_route(scope["path"]), method=method if method in _METHODS else OTHER)


def _route(path: str) -> str:
    if path in ROUTES:
        return path
    first = "/" + path.split("/", 2)[1] if path.startswith("/") else path
    return first if first in _WITH_PATHS else OTHER
