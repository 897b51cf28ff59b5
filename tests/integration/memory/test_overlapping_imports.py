"""Two instances that know the same people, and the export of one imported into the other: nothing is known twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import orjson
import psycopg
from fix_memory import EVIDENCE, Memory, fresh_database, memory_of
from fix_transfer import Transfer
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from stratagraph.memory.imports.memories.run import MemoryImport, import_memories
from stratagraph.memory.revise.request import Contest, Retract, Supersede
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.fact_predicates import FactPredicate
from stratagraph.store.postgres.database import Database
from stratagraph.store.records.predicates import register

PEOPLE = ("Ada", "Byron", "Clara")
SIZE = settings(
    max_examples=12,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
SAYINGS = st.tuples(
    st.just("say"),
    st.sampled_from(PEOPLE),
    st.sampled_from(["lives_in", "likes", "admires"]),
    st.sampled_from(["tea", "chess", "Clara"]),
    st.sampled_from([None, "replace"]),
)
NOTES = st.tuples(st.just("file"), st.sampled_from([2027, 2028, 2029]), st.sampled_from(["Danish", "Norwegian"]))
REVISIONS = st.tuples(st.sampled_from(["supersede", "retract", "contest"]), st.integers(0, 5), st.sampled_from("xyz"))
COMMON = st.lists(st.one_of(SAYINGS, NOTES), min_size=2, max_size=5)
HISTORIES = st.lists(st.one_of(SAYINGS, NOTES, REVISIONS), max_size=5)
# Both replace a fact by the same new one, each another fact, so what is active in one was superseded in the other.
TEA_AND_CHESS = [("say", "Ada", "likes", value, None) for value in ("tea", "chess")]
TO_ONE_NEW = ([("supersede", 0, "x")], [("supersede", 1, "x")])
Line = dict[str, Any]


async def _live(memory: Memory, transfer: Transfer, others: frozenset[str], history: list[Any]) -> None:
    """Let a memory learn of the people, `others` by a second identifier too, and then what the history says."""
    caller = await memory.directory.resolve(memory.trust)
    async with memory.database.writing(caller.bounds) as connection:
        await register(connection, caller.tenant, "lives_in", FactPredicate(single_valued=True))
    for name in PEOPLE:
        spaces = ("staff", "mail") if name in others else ("staff",)
        await memory.entity(name, identifiers=[{"namespace": space, "value": name} for space in spaces])
    for step in history:
        if step[0] == "say":
            _, subject, predicate, value, policy = step
            more = {} if policy is None else {"revision_policy": policy}
            await memory.observe(subject, predicate, value, **more)
        elif step[0] == "file":
            await _import(memory, transfer, step)
        else:
            await _revise(memory, transfer, *step)


async def _import(memory: Memory, transfer: Transfer, step: Any) -> None:
    """Import the memories of another system as they are by now."""
    doyle: dict[str, Any] = {"type": "entity", "name": "Doyle", "entityType": "person"}
    doyle["observations"] = [f"Retires in {step[1]}", f"Speaks {step[2]}"]
    memory.clock.forward(timedelta(seconds=1))
    file, artifacts = transfer.file(orjson.dumps(doyle), "memory.jsonl"), transfer.artifacts(memory)
    request = MemoryImport(paths=(file,))
    await import_memories(memory.capture, transfer.importer(memory), artifacts, memory.trust, request)


async def _revise(memory: Memory, transfer: Transfer, kind: str, place: int, value: str) -> None:
    facts = [
        line
        for line in _lines(await transfer.text(memory), "record")
        if line["type"] == "semantic" and line["state"] == "active"
    ]
    if not facts:
        return
    fact = facts[place % len(facts)]
    id_ = UUID(fact["id"])
    payload = {key: fact["content"]["payload"][key] for key in ("subject", "predicate")} | {"object": value}
    match kind:
        case "supersede":
            await memory.revise(Supersede(record_id=id_, rationale="news", payload=payload, evidence=EVIDENCE))
        case "retract":
            await memory.revise(Retract(record_id=id_, rationale="wrong"))
        case _:
            await memory.revise(Contest(record_id=id_, rationale="doubtful", evidence=EVIDENCE))


def _lines(text: bytes, kind: str) -> list[Line]:
    return [line for line in map(orjson.loads, text.splitlines()) if line["kind"] == kind]


def _active(text: bytes) -> Counter[bytes]:
    """The active facts of an export: what each says of whom, under which conditions."""
    found = Counter[bytes]()
    for line in _lines(text, "record"):
        if line["type"] == "semantic" and line["state"] == "active":
            payload = line["content"]["payload"]
            conditions = payload["validity"].get("conditions")
            said = [line.get("scope"), payload["subject"], payload["predicate"], payload["object"], conditions]
            found[orjson.dumps(said, option=orjson.OPT_SORT_KEYS)] += 1
    return found


def _superseded(text: bytes) -> set[tuple[str, str]]:
    """The pairs of active facts of which one superseded what the other one says."""
    facts = {line["id"]: line for line in _lines(text, "record") if line["type"] == "semantic"}
    said = {
        id_: orjson.dumps([line["content"]["payload"][name] for name in ("subject", "predicate", "object")])
        for id_, line in facts.items()
    }
    active = {said[id_]: id_ for id_, line in facts.items() if line["state"] == "active"}
    found = set[tuple[str, str]]()
    for id_, line in facts.items():
        after = str((line["content"]["payload"].get("revision") or {}).get("superseded_by"))
        if after in facts and facts[after]["state"] == "active" and said[id_] in active and said[id_] != said[after]:
            found.add((active[said[id_]], after))
    return found


async def _check(memory: Memory, other: Memory, transfer: Transfer) -> Counter[str]:
    ours, before = await transfer.text(memory), await transfer.text(other)
    file = transfer.file(ours)

    planned = await transfer.imported(other, file, dry_run=True)
    assert await transfer.text(other) == before
    report = await transfer.imported(other, file)
    assert replace(planned, is_dry_run=False) == report

    text = await transfer.text(other)
    lines = [line for line in before.splitlines() if b'"kind":"end"' not in line]
    assert set(lines) <= set(text.splitlines())
    records = {line["id"]: line for line in _lines(text, "record")}
    for line in records.values():
        fact = line.get("fact") or {}
        assert {fact.get("subject_entity"), fact.get("object_entity")} - {None} <= set(records)
    for relation in _lines(text, "relation"):
        assert {relation["source"], relation["target"]} <= set(records)
    known = {said for one in (ours, before) for said, count in _active(one).items() if count > 1}
    assert [said for said, count in _active(text).items() if count > 1 and said not in known] == []
    assert _superseded(text) <= _superseded(ours) | _superseded(before)
    names = Counter(line["content"]["name"] for line in records.values() if line["type"] == "entity")
    assert all(names[name] == 1 for name in PEOPLE)

    again = await transfer.imported(other, file)
    assert await transfer.text(other) == text
    assert (again.mapped, again.same, again.refused) == (report.mapped, report.same, report.refused)
    assert (again.left_out, again.stored, again.relations) == (report.left_out, Counter(), 0)
    assert again.unchanged == report.stored.total()
    return report.mapped


def test_what_both_know_is_known_once(
    postgres_url: str, template_database: str, administrator: psycopg.Connection, transfer: Transfer
) -> None:
    mapped = Counter[str]()
    with asyncio.Runner() as runner, fresh_database(postgres_url, template_database, administrator) as url:
        stack = AsyncExitStack()

        async def opened() -> Memory:
            database = await stack.enter_async_context(Database(url))
            return memory_of(database, Directory(database, Vault(database, LocalMasterKey(bytes(32)))))

        memory, number = runner.run(opened()), 0

        @SIZE
        @example(others=(frozenset(), frozenset()), common=TEA_AND_CHESS, histories=TO_ONE_NEW)
        @given(
            others=st.tuples(st.frozensets(st.sampled_from(PEOPLE)), st.frozensets(st.sampled_from(PEOPLE))),
            common=COMMON,
            histories=st.tuples(HISTORIES, HISTORIES),
        )
        def check(
            others: tuple[frozenset[str], frozenset[str]], common: list[Any], histories: tuple[list[Any], list[Any]]
        ) -> None:
            nonlocal number, mapped
            number += 1
            pair = [replace(memory, trust=replace(memory.trust, tenant=f"{side}{number}")) for side in ("a", "c")]
            for one, second, history in zip(pair, others, histories, strict=True):
                runner.run(_live(one, transfer, second, [*common, *history]))
            mapped += runner.run(_check(pair[0], pair[1], transfer))

        try:
            check()
        finally:
            runner.run(stack.aclose())
    assert mapped["entity"] > 0
    assert mapped["semantic"] > 0
