"""What is sent for an operation: its variables as JSON, with the keys and sequences that the client adds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from stratagraph_client.documents import Operation
from stratagraph_client.inputs import unsendable
from stratagraph_client.operations.base_model import UNSET
from stratagraph_client.operations.documents import FRAGMENTS, OPERATIONS

URL = "http://127.0.0.1:8000"
# Mutations without an idempotency key that are counted once, or set a state, however often they are sent.
REPEATABLE = frozenset({"CreditLessons", "ReportOutcome", "ReportOutcomes", "SetPredicate"})


def endpoint_of(url: str | None) -> str:
    """Return the address of the GraphQL endpoint. Raises ValueError for a text that is not the URL of a service.

    By default the service is that of STRATAGRAPH_URL, or on this machine. The URL may have a path, behind a proxy that
    serves several services, and may end with `/graphql`.
    """
    given = url or os.environ.get("STRATAGRAPH_URL") or URL
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url must begin with http:// or https:// and name a host, such as {URL}")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("url must have no user, no ? and no #; give the credential as api_key")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/graphql')}/graphql"


@cache
def document_of(name: str) -> str:
    """Return the document that is sent for an operation: the operation, and the fragments that it spreads."""
    operation = OPERATIONS[name]
    return " ".join([operation.text, *(FRAGMENTS[one] for one in operation.fragments)])


def variables_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return variables as JSON, without those that were not given. Raises InvalidInput for what JSON cannot hold."""
    return {name: as_json(name, value) for name, value in given.items() if value is not UNSET}


def as_json(name: str, value: Any) -> Any:
    """Return the value of a variable as JSON; a time is its text. Raises InvalidInput for what JSON cannot hold."""
    try:
        if isinstance(value, BaseModel):
            return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return to_jsonable_python(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise unsendable(name, error) from None


def add_keys(variables: dict[str, Any], operation: Operation) -> None:
    """Give each write that has no idempotency key a new one, which its retries keep."""
    if operation.key is not None:
        input_ = variables.get("input") or {}
        for one in [input_] if operation.key == "input" else input_.get("items") or ():
            if one.get("idempotencyKey") is None:
                one["idempotencyKey"] = str(uuid4())


def has_keys(variables: Mapping[str, Any]) -> bool:
    """Return whether the inputs among some variables have idempotency keys, or the items of a batch do."""
    inputs = [one for one in variables.values() if isinstance(one, dict)]
    written = [
        item for one in inputs for item in (one["items"] if "items" in one and not one.get("idempotencyKey") else [one])
    ]
    return bool(written) and all(isinstance(one, dict) and one.get("idempotencyKey") for one in written)


def add_sequence(variables: dict[str, Any], operation: Operation, sequence: str | None) -> dict[str, Any] | None:
    """Have the answer reflect the writes of `sequence`, unless the caller named others.

    Return where it was added, or None.
    """
    if sequence is None or operation.sequence is None:
        return None
    place: dict[str, Any] = variables if operation.sequence == "variable" else variables["input"]
    if place.get("atLeastSequence") is not None:
        return None
    place["atLeastSequence"] = sequence
    return place


def may_repeat(name: str, operation: Operation) -> bool:
    """Return whether an operation does no harm when it is sent again after its answer was lost."""
    return operation.kind != "mutation" or operation.key is not None or name in REPEATABLE


def trace_of(given: Callable[[], str | None] | None) -> str | None:
    """Return the `traceparent` of a request: what `given` returns, or OpenTelemetry's current span, or None.

    OpenTelemetry is asked only where the program has imported it.
    """
    if given is not None:
        return given()
    module = sys.modules.get("opentelemetry.trace")
    if module is None:
        return None
    context = module.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"
