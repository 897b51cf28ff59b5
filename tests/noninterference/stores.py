"""The two stores of a story, each a tenant of its own, and all that the caller can learn of one."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_api import services_of
from fix_jobs import resources_of
from fix_memory import NOON, Memory
from noninterference.answers import ids_in, plain
from noninterference.captures import capture_of
from noninterference.questions import document, questions
from noninterference.steps import HIDDEN, REDACTED, Sight, Step, everything

from stratagraph.consolidation.jobs.close_episodes import CloseEpisodes
from stratagraph.graph_sync.worker import SyncWorker
from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.graphql.services import Services
from stratagraph.memory.capture.failures import keep_failed
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.linking import link_due
from stratagraph.memory.reevaluating import reevaluate_due
from stratagraph.store.keys.directory import Directory
from stratagraph.store.model.enums import Sensitivity, SourceKind
from stratagraph.store.model.trust import Trust
from stratagraph.store.search.word_counts import WordCounter

Json = dict[str, Any]
STEP = timedelta(seconds=20)
AT_ONCE = 5  # each takes a connection of the pool
UNKNOWN = UUID("01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6e")
_REVISIONS = {
    "supersede": "supersede",
    "rename": "supersede",
    "contest": "contest",
    "resolve": "resolveContest",
    "retract": "retract",
    "retract_entity": "retract",
    "merge": "merge",
    "merge_entities": "merge",
    "delete": "deleteRecord",
    "penalize": "penalize",
    "reinforce": "reinforce",
    "pin": "pin",
    "erase": "erase",
}


class OneKeyDirectory(Directory):
    """Gives every tenant the same index key, so that two tenants order their hashes alike."""

    async def new_index_key(self) -> tuple[bytes, str | None]:
        return bytes(range(32)), None


@dataclass(slots=True)
class Ids:
    """Makes ids from the instant, the number of the step and a count: equal steps of two stores get equal ids."""

    memory: Memory
    step: int = 0
    count: int = 0

    def begin(self, step: int) -> None:
        """Set the clock and the ids to those of a step."""
        self.memory.clock.at = NOON + step * STEP
        self.step, self.count = step, 0

    def __call__(self) -> UUID:
        self.count += 1
        milliseconds = int(self.memory.clock.at.timestamp() * 1_000)
        return UUID(int=milliseconds << 80 | 0x7 << 76 | 0x2 << 62 | self.step << 32 | self.count)


@dataclass(frozen=True, slots=True)
class Made:
    """A record that a step created."""

    id: UUID
    type: str


@dataclass(slots=True)
class Bench:
    """The services on which both stores of a story run, and the worker of their mirror if they have one."""

    memory: Memory
    engines: Engines
    ids: Ids
    mirror: SyncWorker | None = None
    schema: Any = field(default_factory=build_schema)
    services: Services = field(init=False)

    def __post_init__(self) -> None:
        self.services = services_of(self.memory, self.engines)

    async def ask(self, trust: Trust, root: str, name: str, arguments: Json) -> Any:
        """Run one operation of the API; return its data, or its errors."""
        found = await self.schema.execute(
            document(root, name), variable_values=arguments, context_value=Context(trust, self.services)
        )
        if found.errors is not None:
            for error in found.errors:
                if error.original_error is not None and not hasattr(error.original_error, "code"):
                    raise error.original_error
            return {"errors": [error.formatted for error in found.errors]}
        assert found.data is not None
        return found.data[name]


@dataclass(slots=True)
class Store:
    """One store of a story. `aimed` are the hidden records that steps of the caller named, by position of the step."""

    bench: Bench
    tenant: str
    sight: Sight
    aimed: dict[int, UUID] = field(default_factory=dict)
    seen: list[Made] = field(default_factory=list)
    hidden: list[Made] = field(default_factory=list)
    hidden_ids: set[UUID] = field(default_factory=set)
    answers: dict[str, Any] = field(default_factory=dict)
    engines: Counter[str] = field(default_factory=Counter)  # that answered queries
    outcomes: list[tuple[str, str, str]] = field(default_factory=list)

    async def run(self, steps: Sequence[Step], *, with_hidden: bool, named: bool = False) -> None:
        """Take all steps, or all but the hidden ones. With `named`, hidden steps name records that the caller sees."""
        for number, step in enumerate(steps):
            self.bench.ids.begin(number)
            if step["who"] == "nobody":
                continue
            if step["kind"] == "jobs":
                await self._work()
            elif step["who"] != "hidden":
                answer = await self._take(number, step, named=False)
                self.answers[f"{number} {step['who']} {step['kind']}"] = answer
            elif with_hidden:
                if step["kind"] == "fail":
                    await self._fail()
                else:
                    await self._take(number, step, named=named)
        self.bench.ids.begin(len(steps))
        await self._work()

    async def ask_everything(self, probes: Sequence[UUID], number: int, *, most: int) -> None:
        """Ask what the caller can ask, also about `probes`, which it may not see: `most` questions of each operation.

        They are asked AT_ONCE at a time, since none changes what another one answers.
        """
        self.bench.ids.begin(number)
        now = self.bench.memory.clock.now()
        caller = self.sight.caller(self.tenant)
        ids = list(dict.fromkeys(made.id for made in self.seen)) or [UNKNOWN]
        asked = [
            (name, arguments)
            for name, every in questions(self.sight, ids, [UNKNOWN, *probes], now).items()
            for arguments in random.Random(number).sample(every, min(most, len(every)))
        ]
        places = asyncio.Semaphore(AT_ONCE)

        async def ask(name: str, arguments: Json) -> list[Any]:
            async with places:
                return await self._ask_pages(caller, name, arguments)

        pages = await asyncio.gather(*(ask(*one) for one in asked))
        self.answers |= {f"{name} {arguments}": found for (name, arguments), found in zip(asked, pages, strict=True)}

    async def _ask_pages(self, caller: Trust, name: str, arguments: Json) -> list[Any]:
        pages: list[Any] = []
        for _ in range(4):
            pages.append(await self.bench.ask(caller, "Query", name, arguments))
            if isinstance(pages[-1], dict) and "freshness" in pages[-1]:
                self.engines[pages[-1]["freshness"]["engine"]] += 1
            page = pages[-1].get("pageInfo") if isinstance(pages[-1], dict) else None
            if not page or not page["hasNextPage"]:
                break
            arguments = {**arguments, "after": page["endCursor"]}
        return pages

    async def _take(self, number: int, step: Step, *, named: bool) -> Any:
        who = step["who"]
        places = self.sight.hidden_places() if who == "hidden" else self.sight.seen_places()
        if who == "caller":
            places = [("project:a", level) for _, level in places[: self.sight.ceiling + 1]]
        scope, level = places[step["place"] % len(places)]
        trust = {
            "caller": self.sight.caller,
            "colleague": self.sight.colleague,
            "hidden": everything,
        }[who](self.tenant)
        mark = ""
        if who == "hidden":
            mark = HIDDEN
        elif Sensitivity[level] > self.sight.ceiling:
            mark = REDACTED
        if step["kind"] in _REVISIONS:
            # A colleague may revise what the caller sees, who may then read the words of the revision.
            name, given = self._revision(number, step, mark if who == "hidden" else "", named=named)
        else:
            name, given = "captureMemory", self._capture(step, mark) | {"scope": scope, "sensitivity": level}
            given["summary"] = f"{given['summary']} {mark}" if given.get("summary") else None
        answer = await self.bench.ask(trust, "Mutation", name, {"input": given})
        self.outcomes.append((who, step["kind"], answer["__typename"] + " " + answer.get("message", "")[:90]))
        self._note(who, answer)
        return answer

    def _note(self, who: str, answer: Any) -> None:
        """Remember the records that the step created; a revision also lists those that it changed."""
        records = answer.get("createdRecords") or answer.get("records") or ()
        made = [Made(UUID(one["id"]), one["type"]) for one in records if self._is_of_step(UUID(one["id"]))]
        (self.hidden if who == "hidden" else self.seen).extend(made)
        if who == "hidden":
            self.hidden_ids |= {id_ for id_ in ids_in(answer) if self._is_of_step(id_)}

    def _is_of_step(self, id_: UUID) -> bool:
        return id_.int >> 32 & 0x3FFFFFFF == self.bench.ids.step

    def _capture(self, step: Step, mark: str) -> Json:
        """Return the input of a capture; what it refers to is its evidence or, for an event, a reference."""
        named = str(self._evidence(step)) if step.get("evidence") or step.get("refers") else None
        return capture_of(step, mark, named)

    def _evidence(self, step: Step) -> UUID:
        """Return the id of a record that a capture names: one that the caller sees or, for the caller, a hidden one.

        Others may see the hidden ones, so their captures would rightly differ.
        """
        where, position = step.get("evidence") or step["refers"]
        if where == "hidden" and step["who"] == "caller":
            return self._aimed(position)
        return self.seen[position % len(self.seen)].id if self.seen else UNKNOWN

    def _aimed(self, position: int) -> UUID:
        """Return the id of a hidden record that exists by now; that of the store with hidden records in both."""
        number = self.bench.ids.step
        if number not in self.aimed:
            self.aimed[number] = self.hidden[position % len(self.hidden)].id if self.hidden else UNKNOWN
        return self.aimed[number]

    def _revision(self, number: int, step: Step, mark: str, *, named: bool) -> tuple[str, Json]:
        kind = step["kind"]
        is_hidden = step["who"] == "hidden"
        pool = self.hidden if is_hidden else self.seen
        if named and is_hidden and number % 2:
            pool = self.seen
        type_ = {"rename": "ENTITY", "retract_entity": "ENTITY", "merge_entities": "ENTITY"}.get(kind, "SEMANTIC")
        if kind in ("delete", "penalize", "reinforce", "pin", "erase") and step["by"] % 3:
            type_ = ""
        first = _pick(pool, step["on"], type_)
        if step["who"] == "caller" and step["aims"]:
            first = self._aimed(step["on"])
        given: Json = {"recordId": str(first), "rationale": f"because {mark}".strip()}
        if kind in ("contest", "merge", "merge_entities"):
            second = _pick(self.hidden if named and is_hidden else pool, step["by"], type_)
            given |= {"recordIds": [given.pop("recordId"), str(second)]} if "merge" in kind else {}
            if kind == "contest":
                given |= (
                    {"contestingId": str(second)}
                    if step["by"] % 4
                    else {"evidence": [{"kind": "event", "ref": mark or "x"}]}
                )
        match kind:
            case "supersede":
                fact = {"subject": "Alice Stone", "predicate": "lives_in", "object": f"{step['value']} {mark}".strip()}
                given |= {
                    "payload": {**fact, "validity": {"mode": "global"}},
                    "evidence": [{"kind": "event", "ref": "x"}],
                }
            case "rename":
                given["payload"] = {"summary": f"renamed {mark}", "aliases": [{"value": "Ally"}]}
            case "resolve":
                given |= {"winnerId": str(first)} if step["winner"] else {}
            case "penalize":
                given["amount"] = 0.2
            case "pin":
                given["pinned"] = bool(step["on"] % 2)
        return _REVISIONS[kind], given

    async def _fail(self) -> None:
        """Keep a failed capture of a batch of two: one that the caller could read and a hidden one."""
        memory = self.bench.memory
        who = everything(self.tenant)
        requests = [
            CaptureRequest(
                source="test",
                source_kind=SourceKind.AGENT_TURN,
                content={"role": "user", "text": HIDDEN},
                scope=scope,
                sensitivity=Sensitivity[level],
            )
            for scope, level in self.sight.hidden_places()[:2]
        ]
        caller = await memory.directory.resolve(who)
        drafts = memory.capture._drafts(caller, requests, batch=True, now=memory.clock.now())
        await memory.directory.scopes(caller.tenant, {draft.scope for draft in drafts}, create=True)
        self.hidden_ids |= {draft.candidate for draft in drafts}
        await keep_failed(memory.database, memory.directory, caller, drafts, OSError(), at=memory.clock.now())

    async def _work(self) -> None:
        """Run the background jobs that change what is remembered."""
        memory = self.bench.memory
        resources = resources_of(memory)
        now = memory.clock.now()
        await CloseEpisodes(resources).run_once(now)
        await link_due(memory.database, memory.directory, now=now, batch=100)
        await reevaluate_due(memory.database, memory.directory, now=now, batch=100)
        await WordCounter(memory.database).count_changes()
        if self.bench.mirror is not None:
            await self.bench.mirror.run_once()


def _pick(pool: Sequence[Made], position: int, type_: str) -> UUID:
    fitting = [made.id for made in pool if type_ in ("", made.type)]
    return fitting[position % len(fitting)] if fitting else UNKNOWN


def inject_ids(monkeypatch: pytest.MonkeyPatch, memory: Memory) -> Ids:
    """Replace the ids that the application makes by those of a story."""
    ids = Ids(memory)
    monkeypatch.setattr("stratagraph.store.model.ids.uuid7", ids)
    return ids


def shown(store: Store) -> Any:
    """Return the answers of a store in plain form."""
    return plain(store.answers)
