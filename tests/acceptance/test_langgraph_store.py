"""The LangGraph store of the client on a real service, beside LangGraph's own InMemoryStore.

Where InMemoryStore does what no store should, the comparison says so: it lists namespaces that hold nothing, and fails
at a comparison of values that have no order. Where stores differ, as in the order of a search without a query, what
they have in common is compared.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from checkout import ROOT
from fix_examples import repeated
from fix_service import Service, running
from graphql import build_schema, parse, validate
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from stratagraph_client import AsyncMemory, Memory
from stratagraph_client.errors import StratagraphError
from stratagraph_client.frameworks import langgraph_requests as requests
from stratagraph_client.frameworks.langgraph import StratagraphStore
from stratagraph_client.frameworks.langgraph_filters import fits
from stratagraph_client.frameworks.langgraph_items import subject_of, tags_of

TTL = 10.0  # minutes
LABELS = ["users", "Users", "alice", "a/b", "a%2fb", "ユーザー", "é", "e\u0301", " x ", "_"]
namespaces = st.lists(st.sampled_from(LABELS), min_size=1, max_size=3).map(tuple)
keys = st.sampled_from(
    ["food", "Food", "fo od", "f_o", "f-o", "f/o", "a.b", "é", "e\u0301", "sk-abc", "ключ", "0-f", ""]
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(-2, 2, allow_nan=False).map(lambda number: round(number, 1))
    | st.sampled_from(["pizza", "Pasta", "", "ünïcode", "10"])
)
values = st.fixed_dictionaries(
    {"n": st.integers(-3, 3) | st.sampled_from([0.5, 1.0])},
    optional={
        "text": st.sampled_from(["Alice likes pizza", "Bob rides a bicycle", "alles grün"]),
        "s": scalars,
        "deep": st.dictionaries(st.sampled_from(["x", "y"]), scalars, max_size=2),
        "list": st.lists(scalars, max_size=2),
    },
)
plain = scalars.filter(lambda one: not isinstance(one, bool))  # to Python, but not to JSON, True is 1
filters = (
    st.none()
    | st.dictionaries(
        st.sampled_from(["n", "s", "missing"]),
        plain | plain.map(lambda one: {"$eq": one}) | plain.map(lambda one: {"$ne": one}),
        max_size=2,
    )
    | st.builds(
        lambda operator, number: {"n": {operator: number}},
        st.sampled_from(["$gt", "$gte", "$lt", "$lte"]),
        st.integers(-3, 3),
    )
    | st.dictionaries(st.just("deep"), st.dictionaries(st.sampled_from(["x", "y"]), plain, max_size=2), min_size=1)
)
prefixes = st.just(()) | namespaces
conditions = st.builds(
    MatchCondition,
    match_type=st.sampled_from(["prefix", "suffix"]),
    path=st.lists(st.sampled_from([*LABELS[:4], "*"]), min_size=1, max_size=2).map(tuple),
)


@pytest.fixture(scope="module")
def module_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of one user, on the embedded Postgres, for all tests of this module."""
    with running(single_user="on", data_dir=str(tmp_path_factory.mktemp("data"))) as started:
        yield started


@pytest.fixture
def url(module_service: Service) -> str:
    assert module_service.url is not None
    return module_service.url


@pytest.fixture
def memory(url: str) -> Iterator[Memory]:
    with Memory(url) as opened:
        yield opened


class Clock:
    """A clock that tests move. Each test has a scope of its own."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


def content(items: Any) -> set[tuple[Any, ...]]:
    return {(one.namespace, one.key, repr(sorted(one.value.items()))) for one in items}


_scopes = (f"history:{n}" for n in itertools.count())


def histories(url: str) -> type[RuleBasedStateMachine]:
    class Histories(RuleBasedStateMachine):
        """One random history, told to both stores."""

        def __init__(self) -> None:
            super().__init__()
            self.opened = ExitStack()
            self.clock = Clock()
            memory = self.opened.enter_context(Memory(url))
            self.store = StratagraphStore(memory, scope=next(_scopes), clock=self.clock)
            self.model = InMemoryStore()
            self.ends: dict[tuple[tuple[str, ...], str], datetime] = {}

        def teardown(self) -> None:
            self.opened.close()

        def known(self) -> InMemoryStore:
            """Return the model without what has expired, and without namespaces that hold nothing."""
            fresh = InMemoryStore()
            for one in self.model.search((), limit=1_000):
                if self.clock.now < self.ends.get((one.namespace, one.key), datetime.max.replace(tzinfo=UTC)):
                    fresh.batch([PutOp(one.namespace, one.key, one.value)])
            return fresh

        def read(self, items: Any) -> None:
            for one in items:
                place = (one.namespace, one.key)
                if place in self.ends:
                    self.ends[place] = self.clock.now + timedelta(minutes=TTL)

        @rule(
            namespace=namespaces,
            key=keys,
            value=values,
            lasts=st.booleans(),
            index=st.sampled_from([None, False, ["text"]]),
        )
        def put(self, namespace: Any, key: str, value: Any, lasts: bool, index: Any) -> None:
            self.store.put(namespace, key, value, index=index, ttl=None if lasts else TTL)
            self.model.put(namespace, key, value)
            self.ends.pop((namespace, key), None)
            if not lasts:
                self.ends[(namespace, key)] = self.clock.now + timedelta(minutes=TTL)

        @rule(namespace=namespaces, key=keys)
        def get(self, namespace: Any, key: str) -> None:
            found, expected = self.store.get(namespace, key), self.known().get(namespace, key)
            assert content([found] if found else []) == content([expected] if expected else [])
            self.read([found] if found else [])

        @rule(namespace=namespaces, key=keys)
        def delete(self, namespace: Any, key: str) -> None:
            self.store.delete(namespace, key)
            self.model.delete(namespace, key)
            self.ends.pop((namespace, key), None)

        @rule(data=st.data())
        @precondition(lambda self: self.model.search((), limit=1))
        def meet(self, data: st.DataObject) -> None:
            """Change or read an item that is there."""
            one = data.draw(st.sampled_from(self.model.search((), limit=1_000)))
            step = data.draw(st.sampled_from(["put", "get", "delete"]))
            if step == "put":
                self.put(one.namespace, one.key, data.draw(values), data.draw(st.booleans()), None)
            elif step == "get":
                self.get(one.namespace, one.key)
            else:
                self.delete(one.namespace, one.key)

        @rule(
            prefix=prefixes,
            wanted=filters,
            limit=st.integers(0, 4),
            offset=st.integers(0, 3),
            query=st.none() | st.just("who likes pizza?"),
        )
        def search(self, prefix: Any, wanted: Any, limit: int, offset: int, query: str | None) -> None:
            expected = self.known().search(prefix, filter=wanted, limit=1_000)
            whole = self.store.search(prefix, filter=wanted, limit=1_000, query=query, refresh_ttl=False)
            assert content(whole) == content(expected)
            assert len(whole) == len(expected)
            scores = [one.score for one in whole if one.score is not None]
            assert scores == sorted(scores, reverse=True)
            assert [one.score for one in whole[: len(scores)]] == scores
            page = self.store.search(prefix, filter=wanted, limit=limit, offset=offset, query=query)
            assert content(page) == content(whole[offset : offset + limit])
            self.read(page)

        @rule(
            asked=st.lists(conditions, max_size=2),
            depth=st.none() | st.integers(1, 3),
            limit=st.integers(1, 9),
            offset=st.integers(0, 2),
        )
        def list_namespaces(self, asked: Any, depth: int | None, limit: int, offset: int) -> None:
            op = ListNamespacesOp(tuple(asked), depth, limit, offset)
            assert self.store.batch([op]) == self.known().batch([op])

        @rule(pairs=st.lists(st.tuples(namespaces, keys, st.none() | values), max_size=4))
        def batch(self, pairs: Any) -> None:
            ops = [op for space, key, value in pairs for op in (PutOp(space, key, value), GetOp(space, key, False))]
            found = self.store.batch(ops)
            expected = self.known().batch(ops)
            self.model.batch([op for op in ops if isinstance(op, PutOp)])
            for space, key, _ in pairs:
                self.ends.pop((space, key), None)
            assert [content([one] if one else []) for one in found] == [
                content([one] if one else []) for one in expected
            ]

        @rule(minutes=st.sampled_from([4.0, 11.0]))
        def pass_time(self, minutes: float) -> None:
            self.clock.now += timedelta(minutes=minutes)

    return Histories


def test_random_histories_read_as_those_of_the_store_in_memory(url: str) -> None:
    machine = histories(url)
    machine.TestCase.settings = settings(
        max_examples=repeated(12), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
    )
    machine.TestCase().runTest()
