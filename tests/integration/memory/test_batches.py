"""The store at rest does not depend on how captures are grouped into batches (docs/specification.md, Entities)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import pytest
from fix_examples import examples
from fix_memory import Memory, memory_of
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from model.comparing import Found, observe_store
from model.drafts import CAPTURES, Draft, callers, request_of
from model.memory import Model

from stratagraph.memory.capture import sharing
from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.sharing import SharedTransactions
from stratagraph.memory.propagation.queue import reevaluate_due
from stratagraph.memory.revise.linking import link_due
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.postgres.database import Database

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def stories() -> st.SearchStrategy[list[Draft]]:
    """Captures without record ids in them, which two stores do not share."""
    return st.lists(CAPTURES.map(lambda draft: {**draft, "evidence": ["x"]}), min_size=2, max_size=10)


SMALL = settings(
    max_examples=15,
    deadline=None,
    phases=[phase for phase in Phase if phase is not Phase.explain],
    suppress_health_check=list(HealthCheck),
)


async def _one_by_one(memory: Memory, captures: Sequence[CaptureRequest]) -> tuple[list[CaptureRequest], Any]:
    trust = callers(f"single-{uuid4().hex[:12]}")[0]
    accepted, answers = [], []
    for request in captures:
        try:
            answers += await memory.capture.capture(trust, [request])
        except StratagraphError:
            continue
        accepted.append(request)
    return accepted, await _at_rest(memory, trust, answers)


async def _in_batches(memory: Memory, captures: Sequence[CaptureRequest], cuts: set[int]) -> Any:
    trust = callers(f"batch-{uuid4().hex[:12]}")[0]
    answers: list[Captured] = []
    bounds = [0, *sorted(cut for cut in cuts if cut < len(captures)), len(captures)]
    for first, last in pairwise(bounds):
        if first < last:
            answers += await memory.capture.capture(trust, captures[first:last], batch=True)
    return await _at_rest(memory, trust, answers)


async def _at_rest(memory: Memory, trust: Any, answers: Sequence[Captured]) -> Any:
    """Return the store after the jobs, with each id replaced by where in the story it was made."""
    later = memory.clock.now() + timedelta(seconds=1)
    while (await link_due(memory.database, memory.directory, now=later, batch=100)).due:
        pass
    while (await reevaluate_due(memory.database, memory.directory, now=later, batch=100)).due:
        pass
    root = await memory.directory.resolve(trust)
    found = await observe_store(memory.database, memory.directory, root, memory.clock.now())
    assert not found.problems
    return _renamed(found, _names(answers))


def _names(answers: Sequence[Captured]) -> dict[UUID, str]:
    names: dict[UUID, str] = {}
    for number, answer in enumerate(answers):
        for record in answer.created:
            what = record.type.label
            if record.type is MemoryType.ENTITY and record.payload is not None:
                what += f" {record.payload['canonical_name']}"
            elif record.id != answer.primary.id:
                what += " beside"
            names[record.id] = f"{number}: {what}"
    return names


def _renamed(found: Found, names: dict[UUID, str]) -> Any:
    records = {}
    for id_, record in found.records.items():
        payload = {key: value for key, value in (record.payload or {}).items() if key not in ("revision", "timeline")}
        row = found.rows[id_]
        records[names[id_]] = {
            "where": (record.scope, int(record.sensitivity)),
            "state": record.state.label,
            "payload": payload,
            "effective": (row["valid_from"], row["valid_to"]),
            "sources": sorted(
                "its capture" if source["ref"].startswith("candidate:") else source["ref"]
                for source in (record.provenance or {}).get("sources", ())
            ),
        }
    relations = {
        name: sorted((names[source], names[target]) for source, target in edges)
        for name, edges in found.relations.items()
    }
    return records, relations


def test_any_split_of_a_story_into_batches_leaves_the_same_store(database_url: str) -> None:
    with asyncio.Runner() as runner:
        database = Database(database_url)
        runner.run(database.__aenter__())
        memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
        memory.clock.at = NOON

        @SMALL
        @given(story=stories(), cuts=st.sets(st.integers(1, 9)))
        def check(story: list[Draft], cuts: set[int]) -> None:
            requests = [request_of(Model(), draft, None, NOON) for draft in story]
            captures = [request for request in requests if isinstance(request, CaptureRequest)]
            # What a single capture refuses, such as a fork that overlaps, would refuse its whole batch.
            accepted, singles = runner.run(_one_by_one(memory, captures))
            assert runner.run(_in_batches(memory, accepted, cuts)) == singles

        try:
            check()
        finally:
            runner.run(database.__aexit__(None, None, None))


async def _concurrently(memory: Memory, captures: Sequence[CaptureRequest]) -> tuple[list[CaptureRequest], Any, Any]:
    """Capture all at the same time. Return them in the order in which they came to be written, and what became of it.

    That is the answer or error of each, and the store at rest.
    """
    trust = callers(f"together-{uuid4().hex[:12]}")[0]
    arrived: list[CaptureRequest] = []
    original = SharedTransactions.capture

    async def noted(self: Any, caller: Any, draft: Any, key: Any, alone: Any) -> Captured:
        arrived.append(draft.request)
        return await original(self, caller, draft, key, alone)

    SharedTransactions.capture = noted  # type: ignore[method-assign]  # the order of arrival is seen nowhere else
    try:
        found = await asyncio.gather(
            *(memory.capture.capture(trust, [request]) for request in captures), return_exceptions=True
        )
    finally:
        SharedTransactions.capture = original  # type: ignore[method-assign]
    # `noted` sees requests with their times in UTC: each is recognised by its content.
    known = {id(request.content): done for request, done in zip(captures, found, strict=True)}
    done = [known[id(request.content)] for request in arrived]
    answers = [one[0] for one in done if not isinstance(one, BaseException)]
    errors = [type(one) if isinstance(one, BaseException) else None for one in done]
    return arrived, errors, await _at_rest(memory, trust, answers)


async def _in_turn(memory: Memory, captures: Sequence[CaptureRequest]) -> tuple[Any, Any]:
    trust = callers(f"alone-{uuid4().hex[:12]}")[0]
    answers: list[Captured] = []
    errors: list[type[BaseException] | None] = []
    for request in captures:
        try:
            answers += await memory.capture.capture(trust, [request])
            errors.append(None)
        except StratagraphError as error:
            errors.append(type(error))
    return errors, await _at_rest(memory, trust, answers)


def test_captures_at_the_same_time_leave_what_they_leave_one_after_the_other(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "PATIENCE_S", 600.0)  # a slow machine must not change the order
    shared: list[int] = []
    with asyncio.Runner() as runner:
        database = Database(database_url)
        runner.run(database.__aenter__())
        memory = memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))
        memory.clock.at = NOON
        commit = memory.capture._commit_shared

        async def counted(caller: Any, drafts: Any, keys: Any) -> list[Captured]:
            shared.append(len(drafts))
            return await commit(caller, drafts, keys)

        memory.capture._shared = SharedTransactions(counted)

        @examples(6)
        @given(story=stories())
        def check(story: list[Draft]) -> None:
            requests = [request_of(Model(), draft, None, NOON) for draft in story]
            captures = [request for request in requests if isinstance(request, CaptureRequest)]
            arrived, errors, store = runner.run(_concurrently(memory, captures))
            assert (errors, store) == runner.run(_in_turn(memory, arrived))

        try:
            check()
        finally:
            runner.run(database.__aexit__(None, None, None))
    assert max(shared) > 1
