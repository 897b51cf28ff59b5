"""Mirror workers, API, Neo4j and Postgres are killed during writes; both stores keep each acknowledged write once.

`make test` kills each part once. `make soak` runs 100 rounds at random; `--hypothesis-seed=N`, with the seed that a run
prints, kills the same parts in the same order again.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from fix_faults import Part, Parts
from fix_memory import until
from fix_service import Client, run_command
from hypothesis import settings

pytestmark = pytest.mark.neo4j

GENERATIONS = "SELECT generation, reason FROM mirror_generation ORDER BY generation"
KINDS = ("worker", "api", "neo4j", "postgres")
RETRY_S = 0.1  # pause before a write that was not acknowledged is sent again
EVIDENCE = [{"kind": "human", "ref": "a ticket"}]
SHOWN = "id version"
EDGE = "id sourceId targetId"
CAPTURED = f"primaryRecord {{ {SHOWN} }} createdRecords {{ {SHOWN} }} edges {{ {EDGE} }} replayed"
CAPTURE = f"""mutation($input: CaptureMemoriesInput!) {{ captureMemories(input: $input) {{ __typename
  ... on CaptureMemoriesSuccess {{ results {{ {CAPTURED} }} }} ... on MemoryError {{ code message }} }} }}"""
REVISE = f"""mutation($input: %sInput!) {{ %s(input: $input) {{ __typename
  ... on RevisionSuccess {{ record {{ {SHOWN} }} records {{ {SHOWN} }} edges {{ {EDGE} }} replayed }}
  ... on MemoryError {{ code message }} }} }}"""
ACTIVE, SUPERSEDED, RETRACTED = 1, 3, 4  # as stored in Postgres
Item = tuple[str, dict[str, Any], str | None]  # source kind, content, proposed type


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The number of kills in a run, their severity, and the load."""

    rounds: int
    checked_every: int  # rounds between two comparisons of everything
    writers: int
    pause_s: float  # pause of a writer between two writes, in which the other processes get processor time
    max_down_s: float  # the longest time that a killed part stays down
    alone: bool  # kill one part a round; otherwise at times two at once
    catch_up: bool  # wait for the mirror after each round, not only before a comparison


SHORT = Plan(
    rounds=len(KINDS), checked_every=len(KINDS), writers=2, pause_s=0.25, max_down_s=0.5, alone=True, catch_up=False
)


@dataclass
class Ledger:
    """The acknowledged writes, and the writes given up without an answer."""

    versions: dict[str, int] = field(default_factory=dict)
    states: dict[str, int] = field(default_factory=dict)
    edges: dict[str, tuple[str, str]] = field(default_factory=dict)
    primaries: dict[str, str] = field(default_factory=dict)  # by idempotency key
    removed: set[str] = field(default_factory=set)
    uncertain: set[str] = field(
        default_factory=set
    )  # records with a change that was given up, so that it may or may not be applied
    given_up: set[str] = field(default_factory=set)  # idempotency keys
    lost_answers: int = 0
    replays: int = 0

    def remember(self, answer: dict[str, Any], *more: dict[str, Any]) -> None:
        for record in more:
            self.versions[record["id"]] = max(record["version"], self.versions.get(record["id"], 0))
        for edge in answer["edges"]:
            self.edges[edge["id"]] = (edge["sourceId"], edge["targetId"])
        self.replays += answer["replayed"]


class Writer:
    """Captures and revises over HTTP. Sends a write without an answer again under the same key, or gives it up."""

    def __init__(self, number: int, client: Client, ledger: Ledger, rng: random.Random, *, pause_s: float) -> None:
        self.acknowledged = 0
        self._number = number
        self._pause_s = pause_s
        self._client = client
        self._ledger = ledger
        self._luck = rng
        self._keys = 0
        self._facts: list[str] = []  # active records that only this writer changes

    async def write(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            revise = self._luck.choice([self._supersede, self._retract, self._merge, self._delete])
            if len(self._facts) > 6 and self._luck.random() < 0.5:
                await revise()
            else:
                await self._capture()
            await asyncio.sleep(self._pause_s)

    async def _ask(self, document: str, name: str, key: str, given: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer; None where the write was given up."""
        attempts_left = self._luck.choice([0, 1_000, 1_000, 1_000])
        while True:
            found: dict[str, Any] | None = None
            try:
                answer = await self._client(document, input=given)
            except (httpx.TransportError, json.JSONDecodeError):
                pass
            else:
                if "errors" in answer:
                    assert answer["errors"][0]["extensions"]["code"] == "UNAVAILABLE", (name, answer)
                else:
                    found = answer["data"][name]
            if found is not None and found["__typename"] != "Unavailable":
                assert found["__typename"].endswith("Success"), (name, given, found)
                self.acknowledged += 1
                return found
            self._ledger.lost_answers += 1
            if attempts_left == 0:
                self._ledger.given_up.add(key)
                return None
            attempts_left -= 1
            await asyncio.sleep(RETRY_S)

    def _key(self) -> str:
        self._keys += 1
        return f"w{self._number}-{self._keys}"

    async def _capture(self) -> None:
        """Capture several items in one transaction, one of them a fact that only this writer changes."""
        items: list[dict[str, Any]] = []
        keys: list[str] = []
        for kind, content, proposed in [
            self._fact(),
            *(one for some in self._luck.sample(self._other_items(), 3) for one in some),
        ]:
            key = self._key()
            item: dict[str, Any] = {"source": "test", "sourceKind": kind, "content": content, "idempotencyKey": key}
            # A superseding record inherits the tags, so the fact, which is revised later, gets no key as its tag.
            item |= {"proposedType": proposed, "tags": [key] if items else []}
            items.append(item)
            keys.append(key)
        found = await self._ask(CAPTURE, "captureMemories", keys[0], {"items": items})
        if found is None:
            self._ledger.given_up.update(keys)
            return
        for key, captured in zip(keys, found["results"], strict=True):
            self._ledger.remember(captured, captured["primaryRecord"], *captured["createdRecords"])
            self._ledger.primaries[key] = captured["primaryRecord"]["id"]
        fact = found["results"][0]["primaryRecord"]["id"]
        self._ledger.states[fact] = ACTIVE
        self._facts.append(fact)

    def _fact(self) -> Item:
        return "OBSERVATION", self._fact_content(), None

    def _fact_content(self) -> dict[str, Any]:
        self._keys += 1
        return {"subject": f"Writer {self._number}", "predicate": "knows", "object": f"thing {self._keys}"}

    def _other_items(self) -> list[list[Item]]:
        """Items of every kind, in threads and about entities that all writers share."""
        number = self._luck.randrange(1_000_000)
        thread, person, own = f"thread {number % 5}", f"Person {number % 7}", f"thread of {self._number}"
        timeline = [{"t": "2026-05-01T10:00:00Z", "event_kind": "start", "ref": "x", "summary": "it began"}]
        steps = [{"id": id_, "op": op} for id_, op in (("a", "build"), ("b", "test"), ("c", f"tool {number % 3}"))]
        links = [{"from": "a", "to": "b", "kind": "control"}, {"from": "b", "to": "c", "kind": "data"}]
        plan = {"plan_id": f"plan {number}", "version": "1", "nodes": steps, "edges": links}
        skill = {
            "skill_name": f"skill {number}",
            "triggers": [{"signal": "mismatch"}],
            "recipe": [{"step": "clear it"}],
        }
        fact = {"subject": person, "predicate": "works_on", "object": number, "revision_policy": "replace"}
        project = {"canonical_name": f"Project {number % 50}", "primary_type": "Project"}
        done: Item = ("OUTCOME", {"thread_id": own, "outcome_status": "success"}, None)
        return [
            [("AGENT_TURN", {"role": "user", "text": f"message {number} about {person}", "thread_id": thread}, None)],
            [("TOOL_OUTPUT", {"tool_name": "grep", "args": {}, "result": "ok", "thread_id": thread}, None)],
            [("AGENT_TURN", {"role": "user", "text": f"message {number}", "thread_id": own}, None), done],
            [("EVENT", {"event_kind": "commit", "ref": str(number), "summary": f"{person} fixed it"}, None)],
            [("WORKING_STATE", {"thread_id": thread, "state": "executing", "context_summary": f"step {number}"}, None)],
            [("EPISODE", {"timeline": timeline, "outcome": "partial"}, None)],
            [("OBSERVATION", fact, None)],
            [("OBSERVATION", project, "ENTITY")],
            [("OBSERVATION", skill, "COMPETENCE")],
            [("OBSERVATION", plan, "PLAN_GRAPH")],
        ]

    async def _supersede(self) -> None:
        (old,) = self._take(1)
        payload = {**self._fact_content(), "validity": {"mode": "global"}}
        found = await self._revise("supersede", [old], recordId=old, payload=payload, evidence=EVIDENCE)
        if found is not None:
            self._ledger.states |= {old: SUPERSEDED, found["record"]["id"]: ACTIVE}
            self._facts.append(found["record"]["id"])

    async def _retract(self) -> None:
        (old,) = self._take(1)
        if await self._revise("retract", [old], recordId=old) is not None:
            self._ledger.states[old] = RETRACTED

    async def _merge(self) -> None:
        both = self._take(2)
        found = await self._revise("merge", both, recordIds=both)
        if found is not None:
            for id_ in both:
                self._ledger.states.pop(id_, None)
            self._ledger.states[found["record"]["id"]] = ACTIVE
            self._facts.append(found["record"]["id"])

    async def _delete(self) -> None:
        (old,) = self._take(1)
        if await self._revise("deleteRecord", [old], recordId=old) is not None:
            self._ledger.removed.add(old)

    def _take(self, number: int) -> list[str]:
        return [self._facts.pop(self._luck.randrange(len(self._facts))) for _ in range(number)]

    async def _revise(self, name: str, records: Sequence[str], **given: Any) -> dict[str, Any] | None:
        key = self._key()
        kind = name[0].upper() + name[1:]
        found = await self._ask(
            REVISE % (kind, name), name, key, {"rationale": "because", "idempotencyKey": key, **given}
        )
        if found is None:
            self._ledger.uncertain.update(records)
            return None
        self._ledger.remember(found, found["record"], *found["records"])
        return found


@asynccontextmanager
async def writing(writers: Sequence[Writer]) -> AsyncIterator[None]:
    """Let all writers write while the block runs; return once each has the answer to its last write."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for writer in writers:
            group.create_task(writer.write(stop))
        try:
            yield
        finally:
            stop.set()


@dataclass
class Times:
    """Seconds from a kill until the parts were back, and until the mirror had caught up, keyed by the killed kinds."""

    back: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    caught_up: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def summary(self) -> str:
        lines = [f"{'killed':20} {'rounds':>6} {'back after':>16} {'caught up after':>16}   (median, longest; seconds)"]
        for kind, found in sorted(self.caught_up.items()):
            figures = [f"{statistics.median(one):7.1f} {max(one):8.1f}" for one in (self.back[kind], found)]
            lines.append(f"{kind:20} {len(found):6} {figures[0]} {figures[1]}")
        return "\n".join(lines)


async def kill_round(
    targets: Sequence[Part], parts: Parts, writers: Sequence[Writer], rng: random.Random, *, max_down_s: float
) -> tuple[float, str]:
    """Wait for a few more writes, kill the parts in `targets`, and start them again after at most `max_down_s`.

    Return the time of the kill (`time.monotonic()`) and the kinds of the killed parts.
    """
    goal = sum(writer.acknowledged for writer in writers) + rng.randrange(1, 12)

    async def written() -> bool:
        return sum(writer.acknowledged for writer in writers) >= goal

    await until(written, within_s=60)
    began = time.monotonic()
    await asyncio.gather(*(asyncio.to_thread(part.kill) for part in targets))
    assert [part.name for part in parts.all if part not in targets and not part.is_running()] == []
    await asyncio.sleep(rng.uniform(0, max_down_s))
    for part in (part for part in parts.all if part in targets):  # the databases first
        await asyncio.to_thread(part.start)
    return began, " + ".join(sorted({part.name.split()[0] for part in targets}))


def choose_targets(parts: Parts, kind: str, rng: random.Random, *, alone: bool) -> list[Part]:
    """Return the parts that a round kills: one; if not `alone`, at times both workers or a second kind as well."""
    kinds: dict[str, list[Part]] = {"api": [parts.api], "neo4j": [parts.neo4j], "postgres": [parts.postgres]}
    kinds["worker"] = rng.sample(parts.workers, 2 if not alone and rng.random() < 0.3 else 1)
    targets = kinds.pop(kind)
    if not alone and rng.random() < 0.2:
        targets = [*targets, *rng.choice(list(kinds.values()))]
    return targets


async def check(parts: Parts, ledger: Ledger) -> dict[str, Any]:
    """Check that no acknowledged write is missing or duplicated, and that the mirror equals Postgres."""
    await parts.caught_up()
    status, out, err = await run_command("sync", "verify", "--deep", "--json", env=parts.environment)
    assert status == 0, (out, err)
    verified: dict[str, Any] = json.loads(out)
    assert verified["equal"]
    assert verified["settled"]
    # The comparison does not report a difference that the running check has already repaired.
    assert await parts.rows("SELECT drift, last_drift FROM mirror_leader") in ([({}, {})], [({}, None)])
    assert await parts.rows("SELECT * FROM sync_dead_letter") == []

    found = {row[0]: row[1:] for row in await parts.rows("SELECT id::text, version, state FROM record")}
    tombstones = {row[0] for row in await parts.rows("SELECT id::text FROM tombstone")}
    assert ledger.removed <= tombstones
    assert ledger.removed.isdisjoint(found)
    deleted = ledger.removed | (ledger.uncertain & tombstones)
    kept = ledger.versions.keys() - deleted
    assert sorted(kept - found.keys()) == []
    assert [id_ for id_ in kept if found[id_][0] < ledger.versions[id_]] == []
    wanted = {id_: state for id_, state in ledger.states.items() if id_ not in deleted | ledger.uncertain}
    assert {id_: found[id_][1] for id_ in wanted} == wanted
    relations = {row[0] for row in await parts.rows("SELECT id::text FROM relation")}
    assert [id_ for id_, ends in ledger.edges.items() if id_ not in relations and deleted.isdisjoint(ends)] == []

    assert await parts.rows("SELECT id FROM candidate WHERE state <> 'committed'") == []
    assert (
        await parts.rows(
            "SELECT id FROM candidate c WHERE NOT EXISTS"
            " (SELECT FROM idempotency i WHERE i.tenant = c.tenant AND i.candidate = c.id)"
        )
        == []
    ), "every write had an idempotency key, so each candidate must have one of its own"
    tagged: dict[str, set[str]] = defaultdict(set)
    for id_, tags in await parts.rows("SELECT id::text, tags FROM record"):
        for tag in tags:
            tagged[tag].add(id_)
    assert {key: ids for key, ids in tagged.items() if len(ids) > 1} == {}
    captured_twice = {
        key: ids for key, ids in tagged.items() if key not in ledger.given_up and ledger.primaries[key] not in ids
    }
    assert captured_twice == {}
    return verified


async def test_killing_each_part_once_loses_and_duplicates_no_write(
    parts: Parts, request: pytest.FixtureRequest
) -> None:
    await kill_and_compare(parts, SHORT, seed_of(request))


@pytest.mark.soak
async def test_random_kills_lose_and_duplicate_no_write(parts: Parts, request: pytest.FixtureRequest) -> None:
    plan = Plan(
        rounds=settings().max_examples,
        checked_every=10,
        writers=4,
        pause_s=0.1,
        max_down_s=3.0,
        alone=False,
        catch_up=True,
    )
    await kill_and_compare(parts, plan, seed_of(request))


def seed_of(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--hypothesis-seed") or random.randrange(2**32))


async def kill_and_compare(parts: Parts, plan: Plan, seed: int) -> None:
    """Run the rounds of `plan` during writes, and compare Postgres, the mirror and the acknowledgements."""
    print(f"\n{plan.rounds} rounds, --hypothesis-seed={seed}", flush=True)
    rng = random.Random(seed)
    kinds = [kind for _ in range(0, plan.rounds, len(KINDS)) for kind in rng.sample(KINDS, len(KINDS))]
    ledger, times = Ledger(), Times()
    await parts.caught_up()
    generations = await parts.rows(GENERATIONS)
    async with httpx.AsyncClient(timeout=30) as http:
        client = Client(http, parts.url)
        writers = [
            Writer(number, client, ledger, random.Random(rng.random()), pause_s=plan.pause_s)
            for number in range(plan.writers)
        ]
        for first in range(0, plan.rounds, plan.checked_every):
            last = min(first + plan.checked_every, plan.rounds)
            async with writing(writers):
                for number, kind in enumerate(kinds[first:last], start=first + 1):
                    targets = choose_targets(parts, kind, rng, alone=plan.alone)
                    began, names = await kill_round(targets, parts, writers, rng, max_down_s=plan.max_down_s)
                    times.back[names].append(time.monotonic() - began)
                    if plan.catch_up:
                        await parts.caught_up()
                        times.caught_up[names].append(time.monotonic() - began)
                    print(f"round {number}: {names} {time.monotonic() - began:.1f} s", flush=True)
            verified = await check(parts, ledger)
            acknowledged = sum(writer.acknowledged for writer in writers)
            print(
                f"after {last} rounds: equal, {verified['rows']} rows; {acknowledged} writes acknowledged,"
                f" {ledger.lost_answers} answers lost, {ledger.replays} replays, {len(ledger.given_up)} given up",
                flush=True,
            )
            if plan.catch_up:
                print(times.summary(), flush=True)
    assert await parts.rows(GENERATIONS) == generations, "no part lost its data, so no rebuild may have started"
    assert parts.failures() == []
