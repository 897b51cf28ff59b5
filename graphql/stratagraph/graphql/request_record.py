"""What is recorded of one request, for the access log, metrics and traces.

Never a document, a variable, a credential or an answer: the path only as one of our routes, the operation by its root
fields, of which the schema has a fixed number. Its name, which the client chose, is for the access log alone.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from starlette.types import Scope

ROUTES = ("/graphql", "/artifacts", "/graphiql", "/livez", "/readyz", "/healthz", "/metrics", "/static", "/")
OTHER = "other"
MAX_OPERATION_NAME = 64  # characters of it that are kept
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_WITH_PATHS = ("/artifacts", "/static")  # routes with paths below them


def new_request_id() -> str:
    """Return the id of a new request, under which the log has it."""
    return secrets.token_hex(8)


@dataclass(slots=True)
class RequestRecord:
    """What is recorded of one request.

    `route` is one of ROUTES or OTHER. `status` is that of the response, 0 before it. `kind` is query or mutation,
    `fields` are the root fields and `name` is the name, of a valid GraphQL operation. `cost` is in points. `codes` are
    those of the errors in the answer.
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

    @property
    def operation(self) -> str | None:
        """The root field of the operation, `several` for more than one; None without a valid operation."""
        if not self.fields:
            return None
        return self.fields[0] if len(self.fields) == 1 else "several"


def record_of(scope: Scope) -> RequestRecord:
    """Return a new record of the HTTP request of an ASGI scope."""
    method = scope["method"]
    return RequestRecord(route=_route(scope["path"]), method=method if method in _METHODS else OTHER)


def _route(path: str) -> str:
    if path in ROUTES:
        return path
    first = "/" + path.split("/", 2)[1] if path.startswith("/") else path
    return first if first in _WITH_PATHS else OTHER
