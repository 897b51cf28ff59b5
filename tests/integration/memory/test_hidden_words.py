"""Hidden records change nothing that a search tells: two stores that differ only in them give equal answers.

The stores are two tenants of one database with the same index key, whose captures happen at the same instants. Answers
are compared by content, since ids differ.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from fix_memory import NOON, Memory, memory_of, trust_of
from fix_words import count_all_words, count_differences
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database
from stratagraph.store.search import recent_search, word_indexing, word_search, word_segments
from stratagraph.store.search.recent_search import search_recent, search_recent_at
from stratagraph.store.search.word_index import WordIndex
from stratagraph.store.search.word_search import WordSearch, search_words, search_words_at

SCOPES = ("", "project:a", "project:b", "project:c")
WORDS = ("apple", "pear", "plum", "quince", "fig")
ANSWER_LIMIT = 4
SETTINGS = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True, slots=True)
class Step:
    """A turn, or a working record, which a later step of the same place rewrites; or the erasure of an earlier step."""

    scope: str
    level: Sensitivity
    words: tuple[str, ...]
    kind: str
    earlier: int  # days before its capture at which it occurred; for an erasure, which of the steps before


STEPS = st.lists(
    st.builds(
        Step,
        scope=st.sampled_from(SCOPES),
        level=st.sampled_from(list(Sensitivity)),
        words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(tuple),
        kind=st.sampled_from(["turn", "turn", "turn", "working", "erase"]),
        earlier=st.integers(0, 3),
    ),
    min_size=8,
    max_size=24,
)
CALLER_SCOPES = st.none() | st.sets(st.sampled_from(SCOPES[1:]), max_size=2)
CEILINGS = st.sampled_from([Sensitivity.PUBLIC, Sensitivity.LOW, Sensitivity.MEDIUM])
# With limits this small, a few records are a large store. With the first all is read, with the last conjunctions.
LIMITS = st.sampled_from([(100, 200, 100), (0, 200, 100), (2, 3, 4), (0, 0, 1)])


@dataclass
class Filled:
    """One of the two stores: a tenant, and for each step the ids that it wrote."""

    memory: Memory
    tenant: str
    index: WordIndex
    written: dict[int, UUID] = field(default_factory=dict)

    async def apply(self, number: int, step: Step, *, erased: int | None) -> None:
        memory, owner = self.memory, trust_of(tenant=self.tenant)
        if step.kind == "erase":
            if erased in self.written:
                await memory.erasure.erase(owner, Erase(record_id=self.written.pop(erased), rationale="asked to"))
            return
        said = " ".join(step.words)
        kind, content = (
            (SourceKind.AGENT_TURN, {"role": "user", "text": said})
            if step.kind == "turn"
            else (SourceKind.WORKING_STATE, {"thread_id": "t", "state": "planning", "context_summary": said})
        )
        request = CaptureRequest(
            source="test",
            source_kind=kind,
            content=content,
            scope=step.scope or None,
            sensitivity=step.level,
            timestamp=memory.clock.now() - timedelta(days=step.earlier),
        )
        self.written[number] = (await memory.capture.capture(owner, [request]))[0].primary.id

    async def answers(self, who: dict[str, Any], question: str, instants: list[datetime]) -> list[object]:
        """Return what the caller is told: members by content, in order, with their scores to the last digit."""
        memory, trust = self.memory, trust_of(tenant=self.tenant, **who)
        caller = await memory.directory.resolve(trust)
        types, now = tuple(MemoryType), memory.clock.now()
        async with memory.database.reading(caller.bounds) as connection:
            asked: dict[str, Any] = {"types": types, "limit": ANSWER_LIMIT}
            search = WordSearch(caller, question, **asked)
            scored = [
                await search_words(connection, self.index, caller, question, now=now, **asked),
                await search_words(connection, self.index, caller, question, now=now, history=True, **asked),
                *[(await search_words_at(connection, search, at=at))[0] for at in instants],
            ]
            listed = [
                await search_recent(connection, now=now, **asked),
                *[await search_recent_at(connection, at=at, **asked) for at in instants],
            ]
        told: list[object] = [
            *[[(await self._content(trust, id_), score) for id_, score in found] for found in scored],
            *[[await self._content(trust, id_) for id_ in found] for found in listed],
        ]
        timed = f"{question} in the past 2 days"
        for task, at in [(task, at) for task in (question, timed) for at in (None, *instants)]:
            request = RetrieveRequest(task_descriptor=task, root_limit=ANSWER_LIMIT, max_hops=0, as_of=at)
            found = await memory.retrieve.retrieve(trust, request)
            told.append(
                [
                    (
                        node.record.text,
                        node.record.scope,
                        node.score,
                        node.strength,
                        node.why.signals,
                        [await self._content(trust, id_) for id_ in node.duplicates],
                    )
                    for node in found.nodes
                ]
            )
            told.append(found.reached)
        return told

    async def _content(self, trust: Trust, id_: UUID) -> object:
        record = await self.memory.lookup.record(trust, id_)
        assert record is not None
        return record.text, record.scope, record.sensitivity, record.occurred_at


@pytest.fixture
def index_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all tenants one index key, so that equal words have equal numbers and sums are added in one order."""

    async def one_key(self: Directory) -> tuple[bytes, None]:
        return bytes(range(32)), None

    monkeypatch.setattr(Directory, "new_index_key", one_key)


@pytest.fixture
def numbers() -> Iterator[int]:
    return count()


def test_hidden_records_change_no_answer_and_no_score(
    database_url: str, index_key: None, numbers: Iterator[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    with asyncio.Runner() as runner:
        database = Database(database_url)
        memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
        index = WordIndex()
        hidden_in_total = answered = 0

        @SETTINGS
        @given(
            steps=STEPS,
            scopes=CALLER_SCOPES,
            ceiling=CEILINGS,
            question=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
            limits=LIMITS,
            window=st.sampled_from([3, 400]),
        )
        def compare(
            steps: list[Step],
            scopes: set[str] | None,
            ceiling: Sensitivity,
            question: str,
            limits: tuple[int, int, int],
            window: int,
        ) -> None:
            nonlocal hidden_in_total, answered
            few, small, budget = limits
            monkeypatch.setattr(word_search, "FEW_RECORDS", few)
            monkeypatch.setattr(word_search, "SMALL_STORE", small)
            monkeypatch.setattr(word_search, "BUDGET", budget)
            monkeypatch.setattr(recent_search, "RECENT_WINDOW", window)
            # Two stores with different records have different segments and blocks.
            monkeypatch.setattr(word_indexing, "MAX_RECORDS", 2 + budget)
            monkeypatch.setattr(word_indexing, "SMALLEST", few + 1)
            monkeypatch.setattr(word_segments, "BLOCK_POSTINGS", 1 + small)
            who: dict[str, Any] = {"scopes": scopes, "ceiling": ceiling}

            def is_hidden(step: Step) -> bool:
                """Not even its head shows: that of a record one level above the ceiling would."""
                return step.level > ceiling + 1 or not (scopes is None or not step.scope or step.scope in scopes)

            async def run() -> tuple[list[object], list[object]]:
                name = next(numbers)
                stores = [Filled(memory, f"{name}-{which}", index) for which in ("all", "readable")]
                memory.clock.at, instants = NOON, []
                for number, step in enumerate(steps):
                    memory.clock.forward(timedelta(seconds=1))
                    erased = number - 1 - step.earlier if step.kind == "erase" else None
                    hidden = is_hidden(step if erased is None or erased < 0 else steps[erased])
                    for store in stores[: 1 if hidden else 2]:
                        await store.apply(number, step, erased=erased)
                    if number % 3 == 0:
                        await count_all_words(database)
                    if number in (len(steps) // 2, len(steps) - 2):
                        instants.append(memory.clock.now().astimezone(UTC))
                await count_all_words(database)
                assert await count_differences(database) == []
                memory.clock.forward(timedelta(seconds=1))
                one, other = [await store.answers(who, question, instants) for store in stores]
                return one, other

            hidden_in_total += sum(map(is_hidden, steps))
            with_hidden, without = runner.run(run())
            answered += bool(without[0])
            assert with_hidden == without

        try:
            compare()
            assert hidden_in_total > 20, "the examples hide hardly anything"
            assert answered > 2, "the examples find hardly anything"
        finally:
            runner.run(database.engine.dispose())
            runner.run(database.__aexit__(None, None, None))
