"""The LangGraph store of the client on a real service, beside LangGraph's own InMemoryStore.

Where InMemoryStore does what no store should, the comparison says so: it lists namespaces that hold nothing, and fails
at a comparison of values that have no order. Where stores differ, as in the order of a search without a query, what
they have in common is compared.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fix_examples import repeated
from fix_memory import fresh_database, until
from fix_service import run_command, running
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from langgraph.store.base import GetOp, InvalidNamespaceError, Item, ListNamespacesOp, MatchCondition, PutOp
from langgraph.store.memory import InMemoryStore

from stratagraph.memory.secrets.masking import hold_secrets
from stratagraph.store.model.canonical import normalised_name
from stratagraph_client import AsyncMemory, Memory
from stratagraph_client.errors import Forbidden, InvalidInput
from stratagraph_client.frameworks.langgraph import StratagraphStore
from stratagraph_client.frameworks.langgraph_filters import fits
from stratagraph_client.frameworks.langgraph_items import subject_of
from stratagraph_client.operations.enums import MemoryType, RecordState
from stratagraph_client.operations.input_types import RecordFilter

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
def url(postgres_url: str, template_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service of one user for all tests of this module, each of which has scopes of its own."""
    data = tmp_path_factory.mktemp("data")
    with (
        fresh_database(postgres_url, template_database) as database_url,
        running(database_url=database_url, single_user="on", data_dir=str(data)) as started,
    ):
        assert started.url is not None
        yield started.url


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


def content(items: Any) -> set[Any]:
    """Return what is in items. As in JSON, 1 is 1.0 and True is neither."""
    return {(one.namespace, one.key, frozen(one.value)) for one in items}


def frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return frozenset((name, frozen(one)) for name, one in value.items())
    if isinstance(value, list):
        return tuple(map(frozen, value))
    return ("truth", value) if isinstance(value, bool) else value


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
        max_examples=repeated(5),
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # a history is short, and shrinking it would take minutes
    )
    machine.TestCase().runTest()


class Counting(httpx.HTTPTransport):
    """A transport that counts requests, and calls something before one of a name is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.before: dict[str, Callable[[], object]] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        name = json.loads(request.content)["operationName"]
        self.names.append(name)
        if name in self.before:
            self.before.pop(name)()
        return super().handle_request(request)


def test_ten_gets_are_one_request_and_puts_take_two_more(url: str) -> None:
    sent = Counting()
    with Memory(url, transport=sent) as memory:
        store = StratagraphStore(memory, scope="counted")
        store.batch([PutOp(("docs",), f"k{n}", {"n": n}) for n in range(20)])
        assert sent.names == ["GetItems", "GetItems", "PutItems", "ReviseItems"]
        sent.names.clear()
        found = store.batch([GetOp(("docs",), f"k{n}") for n in range(20)])
        assert [one.value["n"] for one in found if isinstance(one, Item)] == list(range(20))
        assert sent.names == ["GetItems", "GetItems"]


def test_every_client_recalls_what_the_store_holds_and_nothing_that_it_deleted_or_overwrote(memory: Memory) -> None:
    store = StratagraphStore(memory, scope="shared")
    store.put(("users", "zoe"), "sport", {"text": "Zoe plays badminton", "level": 3})
    found = memory.recall("Which sport does Zoe play?", scopes=["shared"])
    assert [one.text for one in found.memories if one.type == "SEMANTIC"] == [
        'users/zoe/sport holds {"text":"Zoe plays badminton","level":3}'
    ]
    store.put(("users", "zoe"), "sport", {"text": "Zoe plays squash", "level": 1})
    assert "badminton" not in memory.recall("Zoe badminton", scopes=["shared"]).text
    assert "squash" in memory.recall("Zoe squash", scopes=["shared"]).text
    store.delete(("users", "zoe"), "sport")
    for question in ("Zoe squash", "Zoe badminton", "users zoe sport"):
        assert memory.recall(question, scopes=["shared"]).memories == ()
    listed = memory.operations.records(filter_=RecordFilter(scopes=["shared"], types=[MemoryType.SEMANTIC]))
    assert sorted(one.state.value for one in listed.nodes if one.state) == ["RETRACTED", "SUPERSEDED"]  # the history


def test_a_note_about_an_item_leaves_it_as_it_is(memory: Memory) -> None:
    store = StratagraphStore(memory, scope="noted")
    store.put(("users", "zoe"), "sport", {"text": "Zoe plays squash"})
    memory.remember("Zoe is good at it", about="users/zoe/sport", scope="noted")
    assert [one.value for one in store.search(())] == [{"text": "Zoe plays squash"}]
    assert store.get(("users", "zoe"), "sport") is not None


def test_items_of_another_scope_are_neither_found_nor_deleted(memory: Memory) -> None:
    one, other = (StratagraphStore(memory, scope=f"apart:{n}") for n in "ab")
    one.put(("x",), "k", {"text": "hidden pizza"})
    other.delete(("x",), "k")
    assert other.get(("x",), "k") is None
    assert other.search((), query="pizza") == []
    assert other.list_namespaces() == []
    by_user = StratagraphStore(memory, scope=lambda namespace: f"apart:{namespace[0]}")
    by_user.put(("a",), "k", {"text": "pizza of a"})
    assert content(one.search(())) == content([*by_user.search(("a",)), *one.search(("x",))])


def test_of_two_writers_at_once_the_last_one_counts_and_one_item_is_left(memory: Memory) -> None:
    stores = [StratagraphStore(memory, scope="raced") for _ in range(4)]
    begin = threading.Barrier(len(stores))

    def write(number: int) -> None:
        begin.wait()
        for round_ in range(5):
            value = None if (number + round_) % 4 == 0 else {"by": number, "round": round_}
            stores[number].batch([PutOp(("x",), "k", value)])

    with ThreadPoolExecutor(len(stores)) as pool:
        list(pool.map(write, range(len(stores))))
    stores[0].put(("x",), "k", {"by": "the last"})
    current = RecordFilter(scopes=["raced"], types=[MemoryType.SEMANTIC], states=[RecordState.ACTIVE])
    left = [one.payload for one in memory.operations.records(filter_=current).nodes]
    assert [one["object"] for one in left if isinstance(one, dict)] == [{"by": "the last"}]


def test_a_read_that_lets_an_item_live_on_does_not_undo_a_write_in_between(url: str, memory: Memory) -> None:
    clock, sent = Clock(), Counting()
    with Memory(url, transport=sent) as reading:
        store = StratagraphStore(reading, scope="refreshed", clock=clock)
        store.put(("x",), "k", {"n": 1}, ttl=10)
        clock.now += timedelta(minutes=6)
        other = StratagraphStore(memory, scope="refreshed", clock=clock)
        sent.before["ReviseItems"] = lambda: other.put(("x",), "k", {"n": 2})
        assert store.get(("x",), "k") is not None
        clock.now += timedelta(days=9)
        assert [one.value for one in store.search(())] == [{"n": 2}]


async def test_an_expired_item_is_recalled_by_no_client(memory: Memory) -> None:
    store = StratagraphStore(memory, scope="expiring", ttl={"default_ttl": 2 / 60})
    store.put(("x",), "k", {"text": "the kettle is on"})
    assert "kettle" in memory.recall("kettle", scopes=["expiring"]).text

    async def is_gone() -> bool:
        return not memory.recall("kettle", scopes=["expiring"], types=[MemoryType.SEMANTIC]).memories

    await until(is_gone)
    assert store.get(("x",), "k") is None


async def test_the_async_methods_do_the_same(url: str, memory: Memory) -> None:
    async with AsyncMemory(url) as opened:
        store = StratagraphStore(opened, scope="awaited")
        await asyncio.gather(*(store.aput(("docs",), f"k{n}", {"n": n}) for n in range(5)))
        assert [one.value["n"] for one in await store.asearch(("docs",), filter={"n": {"$gte": 3}})] in ([3, 4], [4, 3])
        assert await store.alist_namespaces() == [("docs",)]
        in_threads = StratagraphStore(memory, scope="awaited")
        await in_threads.adelete(("docs",), "k1")
        assert await store.aget(("docs",), "k1") is None
        with pytest.raises(TypeError, match="await aget"):
            store.get(("docs",), "k2")


def test_what_cannot_be_stored_is_refused_and_changes_nothing(memory: Memory) -> None:
    store = StratagraphStore(memory, scope="refused")
    store.put(("x",), "k", {"n": 1})
    with pytest.raises(InvalidInput, match="safe integer"):
        store.batch([PutOp(("x",), "k", {"n": 2}), PutOp(("x",), "other", {"n": 2**53 + 1})])
    for index in (None, False, ["n"]):
        for value in (object(), float("nan"), "\ud800", [{"deep": {1, object()}}]):
            with pytest.raises(InvalidInput, match="JSON cannot hold"):
                store.batch([PutOp(("x",), "other", {"n": 1}), PutOp(("x",), "k", {"n": value}, index=index)])
    with pytest.raises(InvalidNamespaceError, match="at most 246"):
        store.put(("x" * 300,), "k", {"n": 1})
    with pytest.raises(InvalidNamespaceError, match="at most 60"):
        store.put(("x",) * 61, "k", {"n": 1})
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {"n": 1})])
    with pytest.raises(ValueError, match="Unknown operator"):
        store.search((), filter={"n": {"$in": [1]}})
    with pytest.raises(ValueError, match="offset -1"):
        store.search((), offset=-1)
    assert [one.value for one in store.search(())] == [{"n": 1}]
    for number in (2**53, 2**60, 2**63):
        store.put(("x",), "k", {"n": number})
        assert store.search(())[0].value == {"n": number}


def test_a_value_with_a_secret_takes_the_place_of_one_without(memory: Memory) -> None:
    store = StratagraphStore(memory, scope="secrets")
    for value in ({"k": "plain"}, {"k": "ghp_" + "a1" * 20}, {"k": "plain again"}):
        store.put(("x",), "k", value)
        assert [one.value for one in store.search(())] == [value]
        current = RecordFilter(scopes=["secrets"], types=[MemoryType.SEMANTIC], states=[RecordState.ACTIVE])
        assert len(memory.operations.records(filter_=current).nodes) == 1


def test_values_without_an_order_do_not_fit_where_the_store_in_memory_fails() -> None:
    model = InMemoryStore()
    model.put(("x",), "k", {"n": None, "s": "abc", "t": True})
    for wanted in ({"n": {"$gt": 0}}, {"s": {"$gt": 0}}, {"missing": {"$lte": 0}}):
        with pytest.raises((TypeError, ValueError)):
            model.search(("x",), filter=wanted)
        assert not fits({"n": None, "s": "abc", "t": True}, wanted)
    assert fits({"s": "abc"}, {"s": {"$gt": "abb", "$lt": "b"}})  # which fails there, too
    assert model.search(("x",), filter={"t": 1})  # to Python
    assert not fits({"t": True}, {"t": 1})  # to JSON


@given(st.tuples(st.lists(st.text(min_size=1), min_size=1, max_size=3), st.text()), st.data())
def test_two_places_never_have_one_name(place: tuple[list[str], str], data: st.DataObject) -> None:
    namespace, key = place
    variants = [str.upper, str.lower, str.casefold, lambda text: f" {text}", lambda text: text.replace(" ", "_")]
    variants += [lambda text: unicodedata.normalize("NFKD", text), lambda text: text.replace("-", "\N{EN DASH}")]
    change = data.draw(st.sampled_from(variants))
    other = ([change(label) for label in namespace], change(key))
    same = normalised_name(subject_of(namespace, key)) == normalised_name(subject_of(*other))
    assert same == (other == (namespace, key))


@given(
    st.lists(st.sampled_from(["xoxb-", "xapp-", "sk-", "glpat-", "gldt-", "1", "a1" * 20, "a1b2c3d4e5" * 2, "-us1"]))
)
def test_no_name_holds_a_secret_which_would_be_masked(parts: list[str]) -> None:
    assert not hold_secrets(subject_of(("users", "".join(parts) or "x"), "k"))
    assert subject_of(("users", "user-356f4a4a"), "food") == "users/user-356f4a4a/food"


def test_the_client_itself_imports_no_framework() -> None:
    names = ("agents", "anthropic", "langchain_core", "langgraph", "stratagraph_client.frameworks")
    program = f"import stratagraph_client, sys; print([name for name in sys.modules if name.startswith({names!r})])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_langgraph_the_import_names_the_extra() -> None:
    program = "import sys; sys.modules['langgraph'] = None; import stratagraph_client.frameworks.langgraph"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "ImportError: LangGraph is not installed; run: pip install 'stratagraph-client[langgraph]'" in done.stderr


def test_a_deletion_reaches_an_item_that_a_read_let_live_on_and_spares_one_that_was_put_since(
    url: str, memory: Memory
) -> None:
    clock, sent = Clock(), Counting()
    other = StratagraphStore(memory, scope="overtaken", clock=clock)
    with Memory(url, transport=sent) as deleting:
        store = StratagraphStore(deleting, scope="overtaken", clock=clock)
        for key in ("read", "put"):
            other.put(("x",), key, {"n": 1}, ttl=10)
        clock.now += timedelta(minutes=6)

        def meanwhile() -> None:
            assert other.get(("x",), "read") is not None
            other.put(("x",), "put", {"n": 2})

        sent.before["ReviseItems"] = meanwhile
        store.batch([PutOp(("x",), "read", None), PutOp(("x",), "put", None)])
        assert sent.names.count("ReviseItems") >= 2
        assert [(one.key, one.value) for one in store.search(())] == [("put", {"n": 2})]


async def test_a_store_shows_and_changes_only_what_its_credential_may(database_url: str, tmp_path: Path) -> None:
    with running(database_url=database_url, data_dir=str(tmp_path / "data")) as started, ExitStack() as opened:

        async def store_of(name: str, *options: str, clock: Clock) -> StratagraphStore:
            status, out, err = await run_command("token", "create", name, "--json", *options, env=started.environment)
            assert status == 0, err
            memory = opened.enter_context(Memory(started.url, api_key=json.loads(out)["token"]))
            return StratagraphStore(memory, scope="user:ann", clock=clock)

        clock = Clock()
        scope = ("--scope", "user:ann")
        writer = await store_of("writer", "--access", "write", *scope, clock=clock)
        reader = await store_of("reader", "--access", "read", *scope, clock=clock)
        stranger = await store_of("stranger", "--access", "write", "--scope", "user:bob", clock=clock)
        writer.put(("x",), "k", {"text": "Ann likes pizza"}, ttl=10)
        clock.now += timedelta(minutes=6)
        assert [one.value["text"] for one in reader.search((), query="pizza")] == ["Ann likes pizza"]
        assert reader.get(("x",), "k") is not None  # which may not let it live on
        with pytest.raises(Forbidden):
            reader.put(("x",), "k", {"text": "Ann likes nothing"})
        with pytest.raises(Forbidden):
            reader.delete(("x",), "k")
        assert stranger.get(("x",), "k") is None
        assert stranger.search((), query="pizza") == []
        assert stranger.list_namespaces() == []
        stranger.delete(("x",), "k")
        with pytest.raises(Forbidden):
            stranger.put(("x",), "k", {"text": "Ann likes nothing"})
        assert [one.value["text"] for one in writer.search(())] == ["Ann likes pizza"]
        writer.delete(("x",), "k")
        assert writer.search(()) == []
