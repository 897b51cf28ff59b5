"""The two stores of a story, each a tenant of its own, and all that the caller can learn of one."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from fix_api import services_of
from fix_memory import NOON, Memory, memory_of
from fix_words import count_all_words
from noninterference.answers import ids_in, plain
from noninterference.captures import capture_of
from noninterference.jobs import fail, import_conversation, prune, run_jobs, turn
from noninterference.questions import document, questions
from noninterference.requests import LAST
from noninterference.steps import (
    CAPTURES,
    FIELDS,
    HIDDEN,
    NAMES,
    RAISED,
    REDACTED,
    REVISIONS,
    RUNS,
    STEP,
    Sight,
    Step,
    everything,
)
from noninterference.truth import CURRENT_MARK, Truth

from stratagraph.graph_sync.mirror import Mirror
from stratagraph.graph_sync.worker import CONSUMER, SyncConfig, SyncWorker, mirror_feed
from stratagraph.graphql.context import Context
from stratagraph.graphql.schema import build_schema
from stratagraph.graphql.services import Services
from stratagraph.memory.capture.policy import Policy, Rule
from stratagraph.memory.capture.retries import FailedCaptures
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.engines.mirror import Neo4jEngine
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.lessons.service import Lessons
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.mirror.freshness import MirrorFreshness
from stratagraph.store.model.clock import rfc3339
from stratagraph.store.model.enums import Sensitivity
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database

Json = dict[str, Any]
_OF_TWO = ("contest", "merge", "merge_entities", "reject")  # revisions that name two records
PATIENT_S = 30.0  # a deadline of the mirror that a busy machine keeps
AT_ONCE = 5  # each takes a connection of the pool
PROBED = 2  # records of a store that `whyNot` is asked about with each request
UNKNOWN = UUID("01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6e")


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

    def instant(self, step: int) -> datetime:
        """Return an instant after a step and before the next one."""
        return NOON + (step + 0.7) * STEP

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
    after_jobs: list[Callable[[], Coroutine[Any, Any, None]]] = field(default_factory=list)
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
    merged: dict[str, list[UUID]] = field(default_factory=lambda: defaultdict(list))  # entities, by who merged them
    answers: dict[str, Any] = field(default_factory=dict)
    engines: Counter[str] = field(default_factory=Counter)  # that answered queries
    fallbacks: Counter[str | None] = field(default_factory=Counter)  # why SQL answered instead of the mirror
    outcomes: list[tuple[str, str, str]] = field(default_factory=list)
    truth: Truth = field(default_factory=Truth)  # of stories that are marked
    sequence: str | None = None  # of the last write that the caller may know of
    requested: list[tuple[Json, Json, dict[UUID, Json]]] = field(default_factory=list)

    async def run(self, steps: Sequence[Step], *, with_hidden: bool, named: bool = False, settled: bool = True) -> None:
        """Take all steps, or all but the hidden ones. With `named`, hidden steps name records that the caller sees.

        Unless `settled`, what the last steps wrote waits for the background jobs.
        """
        for number, step in enumerate(steps):
            self.bench.ids.begin(number)
            await self._step(number, step, with_hidden=with_hidden, named=named)
            await self._look(step)
        self.bench.ids.begin(len(steps))
        if settled:
            await self._work()
            await self._look(steps[-1])

    async def _step(self, number: int, step: Step, *, with_hidden: bool, named: bool) -> None:
        kind = step["kind"]
        if step["who"] == "nobody":
            return
        if kind == "jobs":
            await self._work()
        elif kind == "count":
            await count_all_words(self.bench.memory.database)
        elif kind == "prune":
            await prune(self.bench.memory)
        elif kind == "fail_in_part":
            await self._fail(number, step, in_part=True, with_hidden=with_hidden)
        elif step["who"] != "hidden":
            answer = await self._take(number, step, named=False)
            self.answers[f"{number} {step['who']} {kind}"] = answer
        elif with_hidden:
            if kind == "fail":
                await self._fail(number, step, in_part=False, with_hidden=True)
            elif self._stays_hidden(kind):
                await self._take(number, step, named=named)

    async def _look(self, step: Step) -> None:
        if step.get("marked"):
            await self.truth.look(self.bench.memory, self.tenant)

    async def ask_everything(
        self, probes: Sequence[UUID], number: int, *, most: int, only: Collection[str] | None = None
    ) -> None:
        """Ask what the caller can ask, also about `probes`, which it may not see: `most` questions of each operation.

        With `only`, the operations of these names are asked, about the present, each of which the mirror may answer.
        They are asked AT_ONCE at a time, since none changes what another one answers.
        """
        self.bench.ids.begin(number)
        now = self.bench.memory.clock.now()
        caller = self.sight.caller(self.tenant)
        ids = list(dict.fromkeys(made.id for made in self.seen)) or [UNKNOWN]
        asked = [
            (name, arguments)
            for name, every in _limited(questions(self.sight, ids, [UNKNOWN, *probes], now), only).items()
            for arguments in random.Random(number).sample(every, min(most, len(every)))
        ]
        places = asyncio.Semaphore(AT_ONCE)

        async def ask(name: str, arguments: Json) -> list[Any]:
            async with places:
                return await self._ask_pages(caller, name, arguments)

        pages = await asyncio.gather(*(ask(*one) for one in asked))
        self.answers |= {f"{name} {arguments}": found for (name, arguments), found in zip(asked, pages, strict=True)}

    async def ask_requests(
        self, requests: Sequence[Json], probes: Sequence[UUID], number: int, by_vectors: Bench | None = None
    ) -> None:
        """Retrieve by each request, and ask why some records are not in the answer; every other one `by_vectors`."""
        self.bench.ids.begin(number)
        caller = self.sight.caller(self.tenant)
        ids = [*dict.fromkeys(made.id for made in self.seen), *probes]
        for place, request in enumerate(requests):
            bench = by_vectors if by_vectors is not None and place % 2 else self.bench
            given = request | ({"atLeastSequence": self.sequence} if request.get("atLeastSequence") == LAST else {})
            answer = await bench.ask(caller, "Query", "retrieveGraph", {"input": given})
            if "freshness" in answer:
                self.engines[answer["freshness"]["engine"]] += 1
                self.fallbacks[answer["freshness"]["fallback"]] += 1
            probed = [UNKNOWN, *(ids[(place * PROBED + at) % len(ids)] for at in range(PROBED if ids else 0))]
            told = {id_: await bench.ask(caller, "Query", "whyNot", {"id": str(id_), "input": given}) for id_ in probed}
            self.requested.append((given, answer, told))
            self.answers[f"request {place} {request}"] = [answer, *told.values()]

    async def _ask_pages(self, caller: Trust, name: str, arguments: Json) -> list[Any]:
        pages: list[Any] = []
        for _ in range(4):
            pages.append(await self.bench.ask(caller, "Query", name, arguments))
            if isinstance(pages[-1], dict) and "freshness" in pages[-1]:
                self.engines[pages[-1]["freshness"]["engine"]] += 1
                self.fallbacks[pages[-1]["freshness"]["fallback"]] += 1
            page = pages[-1].get("pageInfo") if isinstance(pages[-1], dict) else None
            if not page or not page["hasNextPage"]:
                break
            arguments = {**arguments, "after": page["endCursor"]}
        return pages

    def _stays_hidden(self, kind: str) -> bool:
        """Return whether a hidden step of this kind concerns hidden records only.

        Retries, predicates, reports, credits and runs concern what the caller sees, and so does the retirement of
        lessons of all levels; an import has no sensitivity, only a scope of its own.
        """
        of_seen = ("retry", "drop", "predicate", "report", "report_batch", *RUNS, "credit", "retire_lessons")
        return kind not in of_seen and (kind != "import" or self.sight.scopes is not None)

    async def _take(self, number: int, step: Step, *, named: bool) -> Any:
        who, kind = step["who"], step["kind"]
        trust = self._trust(who)
        if kind == "import":
            scope, mark = ("project:b", HIDDEN) if who == "hidden" else ("project:a", "")
            return await import_conversation(self.bench.memory, trust, step, scope=scope, mark=mark)
        if kind in REVISIONS:
            # A colleague may revise what the caller sees, who may then read the words of the revision.
            given = {"input": self._revision(number, step, HIDDEN if who == "hidden" else "", named=named)}
        elif kind in ("batch", "revise_batch"):
            given = {"input": {"items": self._items(number, step)}}
        elif kind in CAPTURES:
            given = {"input": self._capture(step, number)}
        elif kind in RUNS:
            given = {"input": {"id": str(await self._run(step, trust))}}
            if kind == "undo_run":
                given["input"]["rationale"] = "not wanted"
        elif kind in ("learn", "credit", "retire_lessons"):
            given = {"input": await self._about_lessons(step, trust)}
        else:
            given = self._typed(step) or await self._other(step, trust)
        answer = await self.bench.ask(trust, "Mutation", FIELDS[kind], given)
        self.outcomes.append((who, kind, answer["__typename"] + " " + answer.get("message", "")[:90]))
        if kind in ("merge", "merge_entities") and "record" in answer:
            self.truth.merged |= {UUID(answer["record"]["id"]), *map(UUID, given["input"]["recordIds"])}
        if step.get("marked") and "primaryRecord" in answer:
            self.truth.primary[number] = UUID(answer["primaryRecord"]["id"])
        if who != "hidden" and "receipt" in answer and "sequence" in answer["receipt"]:
            self.sequence = answer["receipt"]["sequence"]
        if kind == "merge_entities" and "record" in answer:
            self.merged[who] += [UUID(id_) for id_ in given["input"]["recordIds"] if id_ != answer["record"]["id"]]
        self._note(who, answer)
        return answer

    def _items(self, number: int, step: Step) -> list[Json]:
        """Return the items of a batch of captures or revisions."""
        common = {"who": step["who"], "aims": step["aims"]}
        if step["kind"] == "batch":
            return [self._capture(item | common) for item in step["items"]]
        mark = HIDDEN if step["who"] == "hidden" else ""
        return [
            {REVISIONS[item["kind"]]: self._revision(number, item | common, mark, named=False)}
            for item in step["items"]
        ]

    def _trust(self, who: str) -> Trust:
        return {"caller": self.sight.caller, "colleague": self.sight.colleague, "hidden": everything}[who](self.tenant)

    def _places(self, who: str) -> list[tuple[str, str]]:
        if who == "caller":
            return [("project:a", level) for _, level in self.sight.seen_places()[: self.sight.ceiling + 1]]
        return self.sight.hidden_places() if who == "hidden" else self.sight.seen_places()

    async def _other(self, step: Step, trust: Trust) -> Json:
        """Return the arguments of a mutation that neither captures nor revises."""
        match step["kind"]:
            case "retry" | "drop":
                page = await self.bench.ask(trust, "Query", "failedCaptures", {"first": 100})
                listed = [UUID(one["candidateId"]) for one in page["nodes"]]
                id_ = listed[step["on"] % len(listed)] if listed else UNKNOWN
                return {"id": str(self._aimed(step["on"]) if step["aims"] and step["who"] == "caller" else id_)}
            case "predicate":
                return {"input": {"name": step["predicate"], "singleValued": step["single"]}}
            case "report" | "report_batch":
                of_each = [[word] for word in step["words"]] if step["kind"] == "report_batch" else [step["words"]]
                reports = [await self._report(step, trust, words) for words in of_each]
                return {"input": {"items": reports} if step["kind"] == "report_batch" else reports[0]}
            case "erase_entity":
                pool = self.hidden if step["who"] == "hidden" else self.seen
                return {"input": {"entityId": str(_pick(pool, step["on"], "ENTITY")), "rationale": "asked for"}}
            case "erase_scope":
                return {"input": {"scope": "project:b", "rationale": "asked for"}}
            case "erase_tenant":
                tenant = "another" if step["who"] == "hidden" else self.tenant
                return {"input": {"tenant": tenant, "rationale": "asked for"}}
        raise AssertionError(step)

    def _typed(self, step: Step) -> Json:
        """Return the argument of a capture with typed content, which refers to a record; empty for other steps."""
        if step["kind"] not in ("remember", "remember_all"):
            return {}
        places = self._places(step["who"])
        scope, level = places[step["place"] % len(places)]
        mark = HIDDEN if step["who"] == "hidden" else REDACTED if Sensitivity[level] > self.sight.ceiling else ""
        fact = {"subject": step["words"][0], "predicate": "knows", "object": f"{step['words'][1]} {mark}".strip()}
        event = {"eventKind": "typed", "summary": f"{' '.join(step['words'])} {mark}", "threadId": "typed"}
        given = {
            "source": "test",
            "memory": {"fact": fact} if step["on"] % 2 else {"event": event},
            "context": {"references": [{"ref": str(self._evidence(step))}]},
            "scope": scope,
            "sensitivity": level,
        }
        return {"input": given if step["kind"] == "remember" else {"items": [given, given]}}

    async def _report(self, step: Step, trust: Trust, words: Sequence[str]) -> Json:
        """Return a report on a retrieval that is made for it."""
        asked = {"taskDescriptor": " ".join(words), "nodeLimit": 5}
        found = await self.bench.ask(trust, "Query", "retrieveGraph", {"input": asked})
        used = [node["record"]["id"] for node in found["nodes"]][: step["used"]]
        if step["aims"] and step["who"] == "caller":
            used.append(str(self._aimed(step["on"])))
        report = {"retrievalId": found["retrievalId"], "outcome": step["outcome"], "usedRecordIds": used}
        return {**report, "latencyMs": 5.0}

    async def _run(self, step: Step, trust: Trust) -> UUID:
        """Return the id of a run that the author of the step sees; for the caller, sometimes a hidden id."""
        page = await self.bench.ask(trust, "Query", "consolidationRuns", {"first": 100})
        runs = [UUID(one["id"]) for one in page["nodes"]]
        if step["aims"] and step["who"] == "caller":
            return self._aimed(step["on"])
        return runs[step["on"] % len(runs)] if runs else UNKNOWN

    def _note(self, who: str, answer: Any) -> None:
        """Remember the records that the step created; a revision also lists those that it changed."""
        records = answer.get("createdRecords") or answer.get("records") or []
        records = [*records, *([answer["lesson"]] if answer.get("lesson") else ())]
        for one in (*(answer.get("results") or ()), *(answer.get("captures") or ())):
            records = [*records, *(one.get("createdRecords") or one.get("records") or ())]
            records += [one["record"]] if one.get("record") else []
        made = [Made(UUID(one["id"]), one["type"]) for one in records if self._is_of_step(UUID(one["id"]))]
        (self.hidden if who == "hidden" else self.seen).extend(made)
        if who == "hidden":
            self.hidden_ids |= {id_ for id_ in ids_in(answer) if self._is_of_step(id_)}

    def _is_of_step(self, id_: UUID) -> bool:
        return id_.int >> 32 & 0x3FFFFFFF == self.bench.ids.step

    def _capture(self, step: Step, number: int | None = None) -> Json:
        """Return the input of a capture; what it refers to is its evidence or, for an event, a reference.

        With a `number`, that of a marked step, each of its fields is marked.
        """
        who = step["who"]
        places = self._places(who)
        scope, level = places[step["place"] % len(places)]
        mark = ""
        if who == "hidden":
            mark = HIDDEN
        elif Sensitivity[level] > self.sight.ceiling:
            mark = REDACTED
        named = str(self._evidence(step)) if step.get("evidence") or step.get("refers") else None
        given = capture_of(step, mark, named) | {"scope": scope, "sensitivity": level}
        given["summary"] = f"{given['summary']} {mark}" if given.get("summary") else None
        if step.get("ago"):
            given["timestamp"] = (self.bench.memory.clock.now() - timedelta(days=step["ago"])).isoformat()
        if step.get("holds", "always") != "always" and step["kind"] == "observe":
            given["content"]["validity"] = _validity(step["holds"], self.bench.memory.clock.now())
        if step.get("marked") and number is not None:
            given |= {"source": f"source {mark}", "reasonToRemember": f"reason {mark}"}
            given["tags"] = [*given["tags"], *([HIDDEN] if who == "hidden" else ())]
            if mark:
                named_too = [{"name": NAMES[0], "aliases": [f"alias {mark}"]}, f"Firm {mark}"]
                given["context"] = {**given.get("context", {}), "mentions": named_too}
            if step["kind"] != "working":
                given["summary"] = f"{CURRENT_MARK.format(number)} {' '.join(step.get('words', ()))} {mark}".strip()
        if step["raised"]:
            given["tags"] = [RAISED]
        if step["key"] is not None:
            given["idempotencyKey"] = step["key"]
        return given

    async def _about_lessons(self, step: Step, trust: Trust) -> Json:
        """Return the input of a mutation about lessons; several steps have one task, so that some are merged."""
        places = self._places(step["who"])
        scope, level = places[step["place"] % len(places)]
        if step["kind"] == "credit":
            await self.bench.ask(trust, "Query", "playbook", {})
            await self.bench.memory.retrieve.log.flush()
            return {"windowSeconds": 600}
        if step["kind"] == "retire_lessons":
            return {"scope": scope, "minRetrievals": 1, "fraction": 1.0}
        is_above = Sensitivity[level] > self.sight.ceiling
        mark = HIDDEN if step["who"] == "hidden" else REDACTED if is_above else "carefully"
        said = {"solution": f"do it {mark}", "mistake": f"{' '.join(step['words'])} {mark}"}
        given: Json = {"task": step["task"], **said, "verified": step["verified"], "scope": scope, "sensitivity": level}
        return given | {"tags": [RAISED]} if step["raised"] else given

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

    def _revision(self, number: int, step: Step, mark: str, *, named: bool) -> Json:
        kind = step["kind"]
        is_hidden = step["who"] == "hidden"
        pool = self.hidden if is_hidden else self.seen
        # Of an act that names a hidden record as well, the caller must not see the words.
        names_both = named and is_hidden and number % 2 == 1 and kind in _OF_TWO
        if names_both:
            pool = self.seen
        type_ = "ENTITY" if kind in ("rename", "retract_entity", "merge_entities", "unmerge", "reject") else "SEMANTIC"
        type_ = "COMPETENCE" if kind in ("verify_lesson", "remove_lesson") else type_
        if kind in ("delete", "penalize", "reinforce", "pin", "erase") and step["by"] % 3:
            type_ = ""
        first = _pick(pool, step["on"], type_)
        if step["who"] == "caller" and step["aims"]:
            first = self._aimed(step["on"])
        elif kind == "unmerge" and self.merged[step["who"]]:
            first = self.merged[step["who"]][-1 - step["on"] % len(self.merged[step["who"]])]
        given: Json = {"recordId": str(first), "rationale": f"because {mark}".strip()}
        if kind in _OF_TWO:
            second = _pick(self.hidden if named and is_hidden else pool, step["by"], type_)
            given |= {"recordIds": [given.pop("recordId"), str(second)]} if kind != "contest" else {}
            if kind == "contest":
                given |= (
                    {"contestingId": str(second)}
                    if step["by"] % 4 or names_both
                    else {"evidence": [{"kind": "event", "ref": mark or "x"}]}
                )
        match kind:
            case "supersede" | "amend":
                fact = {"subject": "Alice Stone", "predicate": "lives_in", "object": f"{step['value']} {mark}".strip()}
                whole = {**fact, "validity": {"mode": "global"}}
                given |= {"payload": whole} if kind == "supersede" else {"changes": {"object": fact["object"]}}
                given["evidence"] = [{"kind": "event", "ref": "x"}]
            case "fork":
                fact = {"subject": "Alice Stone", "predicate": "lives_in", "object": f"{step['value']} {mark}".strip()}
                conditions = {"env": ["dev", "test", "prod"][step["by"] % 3]}
                given |= {"payload": fact, "conditions": conditions, "evidence": [{"kind": "event", "ref": "x"}]}
            case "rename":
                given["payload"] = {"summary": f"renamed {mark}", "aliases": [{"value": "Ally"}]}
            case "resolve":
                given |= {"winnerId": str(first)} if step["winner"] else {}
            case "penalize":
                given["amount"] = 0.2
            case "pin":
                given["pinned"] = bool(step["on"] % 2)
        return given | self._typed_revision(step, mark)

    def _typed_revision(self, step: Step, mark: str) -> Json:
        """Return the typed payload and evidence of a revision that has them; nothing for another one."""
        if step["kind"] not in ("supersede_typed", "fork_typed"):
            return {}
        fact = {"subject": "Alice Stone", "predicate": "lives_in", "object": f"{step['value']} {mark}".strip()}
        evidence = [{"kind": "EVENT", "ref": str(_pick(self.seen, step["by"], ""))}]
        if step["kind"] == "supersede_typed":
            return {"replacement": {"fact": fact}, "evidence": evidence}
        return {"variant": {"fact": fact}, "evidence": evidence, "conditions": {"env": "dev"}}

    async def _fail(self, number: int, step: Step, *, in_part: bool, with_hidden: bool) -> None:
        """Keep a failed request of two captures: two hidden ones or, with `in_part`, one that the caller sees."""
        hidden, seen = self.sight.hidden_places(), self._places("caller")
        places = [(hidden[number % len(hidden)], HIDDEN)]
        places += [(seen[step["place"] % len(seen)], f"basalt {number}") if in_part else (hidden[0], HIDDEN)]
        if number % 2:
            places.reverse()
        kept = [one for one in places if with_hidden or one[1] != HIDDEN]
        requests = [turn(said, scope, Sensitivity[level]) for (scope, level), said in kept]
        failed = await fail(self.bench.memory, everything(self.tenant), requests)
        self.hidden_ids |= {id_ for id_, (_, said) in zip(failed, kept, strict=True) if said == HIDDEN}

    async def _work(self) -> None:
        """Run the background jobs that change what is remembered."""
        await run_jobs(self.bench.memory)
        for work in self.bench.after_jobs:
            await work()
        if self.bench.mirror is not None:
            await self.bench.mirror.run_once()


def _limited(every: dict[str, list[Json]], only: Collection[str] | None) -> dict[str, list[Json]]:
    """Return the questions about the present of the operations in `only`, or all of them for None."""
    if only is None:
        return every
    return {name: [one for one in every[name] if "asOf" not in one.get("input", one)] for name in only}


def _validity(holds: str, at: datetime) -> Json:
    """Return a stated validity; all its bounds lie between the instants of steps."""
    at += STEP / 2
    bounds = {
        "before": {"start": at - timedelta(days=9), "end": at - timedelta(days=2)},
        "after": {"start": at + timedelta(days=900)},
        "between": {"start": at - timedelta(days=9), "end": at + 2 * STEP},
        "until later": {"end": at + timedelta(days=900)},
    }[holds]
    return {"mode": "timeboxed", **{side: rfc3339(bound) for side, bound in bounds.items()}}


def _pick(pool: Sequence[Made], position: int, type_: str) -> UUID:
    fitting = [made.id for made in pool if type_ in ("", made.type)]
    return fitting[position % len(fitting)] if fitting else UNKNOWN


def story_memory(database: Database) -> Memory:
    """Return the services on which stories are told, with a policy that raises captures with the tag RAISED."""
    memory = memory_of(database, OneKeyDirectory(database, Vault(database, LocalMasterKey(bytes(32)))))
    rule = Rule.model_validate({"when": {"tag": [RAISED]}, "set": {"sensitivity": "hyper"}})
    memory.capture = Capture(database, memory.directory, memory.clock, Policy((rule,)))
    memory.failed_captures = FailedCaptures(database, memory.directory, memory.clock, memory.capture)
    memory.lessons = Lessons(database, memory.directory, memory.clock, memory.capture, memory.retrieve.log)
    return memory


@asynccontextmanager
async def mirrored_bench(database: Database, neo4j: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Bench]:
    """The services of stories that ask the mirror at the URL `neo4j`, and its worker."""
    memory = story_memory(database)
    monkeypatch.setattr("stratagraph.graph_sync.reader.READ_TIMEOUT_S", PATIENT_S)
    async with Mirror(neo4j, user=None, password=None, database="neo4j") as mirror:
        engines = Engines(
            mirror=Neo4jEngine(mirror, plans_up_to=Sensitivity.LOW),
            feed=mirror_feed(database),
            freshness=MirrorFreshness(database, CONSUMER),
            preference="neo4j",
            deadline_s=PATIENT_S,
        )
        memory.retrieve = Retrieve(database, memory.directory, memory.clock, engines)
        worker = SyncWorker(database, memory.directory, mirror, SyncConfig())
        yield Bench(memory, engines, inject_ids(monkeypatch, memory), worker)
        await worker.release()


def inject_ids(monkeypatch: pytest.MonkeyPatch, memory: Memory) -> Ids:
    """Replace the ids that the application makes by those of a story."""
    ids = Ids(memory)
    monkeypatch.setattr("stratagraph.store.model.ids.uuid7", ids)
    return ids


def shown(store: Store) -> Any:
    """Return the answers of a store in plain form."""
    return plain(store.answers)
