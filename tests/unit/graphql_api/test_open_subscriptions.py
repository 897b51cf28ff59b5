"""How many subscriptions a process has open, and which pages may open one."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from starlette.requests import HTTPConnection

from stratagraph.graphql.authentication import SINGLE_USER_PARTY
from stratagraph.graphql.limits.options import FairUse
from stratagraph.graphql.live.event_stream import asks_for_events
from stratagraph.graphql.live.sessions import OpenSubscriptions, is_own_origin
from stratagraph.store.model.errors import RateLimited


def test_a_credential_has_its_share_and_keeps_no_other_one_out() -> None:
    opened = OpenSubscriptions(FairUse(subscriptions=5, subscriptions_share=2))
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(opened.held("one"))
        with pytest.raises(RateLimited, match="complete one"):
            stack.enter_context(opened.held("one"))
        stack.enter_context(opened.held("two"))
        for _ in range(2):
            stack.enter_context(opened.held(SINGLE_USER_PARTY))
        with pytest.raises(RateLimited):
            stack.enter_context(opened.held("three"))
        assert opened.total == 5
    assert opened.total == 0
    with opened.held("one"):
        assert opened.total == 1


def test_only_those_that_several_ask_for_are_shared() -> None:
    opened = OpenSubscriptions(FairUse())
    with opened.like("same"):
        assert not opened.has_several("same")
        with opened.like("same"):
            assert opened.has_several("same")
        assert not opened.has_several("same")


@pytest.mark.parametrize(
    ("origin", "allowed", "expected"),
    [
        (None, (), True),
        ("http://127.0.0.1:8000", (), True),
        ("http://127.0.0.1:8001", (), False),
        ("http://evil.example", (), False),
        ("https://app.example", ("https://app.example",), True),
        ("null", (), False),
        ("http://[", (), False),
        ("", (), False),
    ],
)
def test_a_page_of_another_origin_is_refused(origin: str | None, allowed: tuple[str, ...], expected: bool) -> None:
    headers = [(b"host", b"127.0.0.1:8000"), *([(b"origin", origin.encode())] if origin is not None else ())]
    connection = HTTPConnection({"type": "websocket", "headers": headers})
    assert is_own_origin(connection, frozenset(allowed)) is expected


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("text/event-stream", True),
        ("application/json, Text/Event-Stream;q=0.9", True),
        ("application/json", False),
        ("*/*", False),
        ("", False),
    ],
)
def test_events_are_sent_only_to_who_asks_for_them(accept: str, expected: bool) -> None:
    assert asks_for_events({"type": "http", "headers": [(b"accept", accept.encode())]}) is expected
