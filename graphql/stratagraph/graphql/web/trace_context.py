"""W3C trace context: what a request says of the trace that it belongs to, and what is said onwards.

`outgoing` is what requests of the service to others send, such as those to an embedder: the trace of the request under
way, of which the span is the service's own where it sends traces, and the client's otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

NAMES = ("traceparent", "tracestate")
RESPONSE = "traceresponse"  # the header of a response that names the service's span
MAX_STATE = 512  # characters of `tracestate` that are passed on, as W3C asks at least
_PARENT = re.compile(r"00-(?!0{32})(?P<trace>[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}\Z")
_STATE = re.compile(r"[\x20-\x7e]*\Z")
_outgoing: ContextVar[Mapping[str, str]] = ContextVar("outgoing", default={})  # noqa: B039 - never changed


def valid_context(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the trace context of headers, by lower-case name; empty if it is malformed.

    >>> valid_context({"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate": "a=1"})
    {'traceparent': '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'tracestate': 'a=1'}
    >>> valid_context({"traceparent": "00-0-0-01", "tracestate": "a=1"})
    {}
    """
    parent, state = (headers.get(name) for name in NAMES)
    if parent is None or not _PARENT.match(parent):
        return {}
    found = {"traceparent": parent}
    if state and len(state) <= MAX_STATE and _STATE.match(state):
        found["tracestate"] = state
    return found


def trace_id(context: Mapping[str, str]) -> str | None:
    """Return the id of the trace of a valid context; None for an empty one."""
    found = _PARENT.match(context.get("traceparent", ""))
    return found["trace"] if found is not None else None


def outgoing() -> Mapping[str, str]:
    """Return the headers that a request sent now should have; empty without a trace."""
    return _outgoing.get()


@contextmanager
def sending(context: Mapping[str, str]) -> Iterator[None]:
    """Have requests that are sent in the block carry this context."""
    token = _outgoing.set(context)
    try:
        yield
    finally:
        _outgoing.reset(token)
