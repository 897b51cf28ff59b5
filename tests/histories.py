"""Random histories of captures and revisions on several connections, compared with the model in tests/model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import permutations
from typing import Any, ClassVar
from uuid import UUID, uuid4

import pytest
from fix_memory import ManualClock
from fix_words import count_all_words, count_differences
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from model.comparing import Found, adopt_times, adopt_versions, described, difference, observe_store
from model.drafts import (
    CALLERS,
    CAPTURES,
    FACTS,
    KEYS,
    NAMES,
    REVISIONS,
    Draft,
    callers,
    request_of,
    weighted,
)
from model.memory import Answer, Impossible, Model, Names, Refused, Request
from model.names import fold_name
from model.records import CURRENT, ENTITY, EVENT, FACT, shows
from obstore.store import MemoryStore
from sqlalchemy import text

from stratagraph.memory.capture.answers import Captured
from stratagraph.memory.capture.policy import Policy
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.engines.service import Engines
from stratagraph.memory.erase.request import Erase
from stratagraph.memory.erase.service import Erasure
from stratagraph.memory.propagation.queue import reevaluate_due
from stratagraph.memory.records.artifacts import Artifacts
from stratagraph.memory.records.lookup import Lookup
from stratagraph.memory.retrieve.request import RetrieveRequest
from stratagraph.memory.retrieve.service import Retrieve
from stratagraph.memory.revise.linking import link_due
from stratagraph.memory.revise.request import Merge, Revise, Unmerge
from stratagraph.memory.revise.service import Revised, Revision
from stratagraph.store.artifacts.blobs import Blobs
from stratagraph.store.audit.verification import verify_chains
from stratagraph.store.erasure.pruning import prune_due
from stratagraph.store.keys.callers import Caller
from stratagraph.store.keys.directory import Directory
from stratagraph.store.keys.sealing.master import LocalMasterKey
from stratagraph.store.keys.sealing.vault import Vault
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.model.trust import Trust
from stratagraph.store.postgres.database import Database, Role
from stratagraph.store.search.word_counts import WordCounter

CONNECTIONS = 3
LATE = timedelta(milliseconds=1)  # longer than the microseconds that separate writes of one instant


@dataclass(slots=True)
class Site:
    """One server process: its own connection pool and its own cache of names."""

    database: Database
    directory: Directory
    capture: Capture
    revision: Revision
    erasure: Erasure
    lookup: Lookup
    retrieve: Retrieve


@dataclass(slots=True)
class SharedState:
    """The database and the event loop that all histories use; each history has a tenant of its own."""

    runner: asyncio.Runner
    clock: ManualClock
    is_queued: bool  # whether dependent records are re-evaluated after the transaction that changed their support
    sites: list[Site] = field(default_factory=list)
    histories: int = 0
    steps: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    async def open(self, url: str, stack: AsyncExitStack) -> None:
        for _ in range(CONNECTIONS):
            database = await stack.enter_async_context(Database(url))
            directory = Directory(database, Vault(database, LocalMasterKey(bytes(32))))
            retrieve = Retrieve(database, directory, self.clock, Engines())
            self.sites.append(
                Site(
                    database,
                    directory,
                    Capture(database, directory, self.clock, Policy()),
                    Revision(database, directory, self.clock),
                    Erasure(
                        database,
                        directory,
                        self.clock,
                        Artifacts(database, directory, self.clock, Blobs(MemoryStore())),
                    ),
                    Lookup(database, directory, self.clock, retrieve.log),
                    retrieve,
                )
            )


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a service: a revision, or captures that are one batch."""

    trust: Trust
    requests: tuple[Request, ...]


Got = list[Captured] | Revised | StratagraphError


class Histories(RuleBasedStateMachine):
    """Applies each step to the store and to the model, then compares every record, relation and audit entry."""

    shared: ClassVar[SharedState]

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.callers = callers(f"history-{self.shared.histories}-{uuid4().hex[:8]}")
        self.root: Caller | None = None
        self.keyed: dict[str, Call] = {}
        self.past: list[tuple[datetime, Model]] = []
        self.seen: dict[UUID, tuple[int, datetime]] = {}
        self.shared.histories += 1

    @initialize(drafts=st.lists(FACTS, min_size=2, max_size=4))
    def begin(self, drafts: list[Draft]) -> None:
        self.root = self._run(self.shared.sites[0].directory.resolve(self.callers[0]))
        self.model.state.now = self.shared.clock.now()
        for draft in drafts:
            self._execute([self._call([draft], None, 0)], 0)

    # Steps

    @rule(draft=CAPTURES, key=KEYS, caller=CALLERS, site=st.integers(0, CONNECTIONS - 1))
    def capture(self, draft: Draft, key: str | None, caller: int, site: int) -> None:
        self._execute([self._call([draft], key, caller)], site)

    @rule(drafts=st.lists(FACTS, min_size=1, max_size=3), caller=CALLERS, site=st.integers(0, CONNECTIONS - 1))
    def observe(self, drafts: list[Draft], caller: int, site: int) -> None:
        """Capture facts one after the other."""
        for draft in drafts:
            self._execute([self._call([draft], None, caller)], site)

    @rule(drafts=st.lists(CAPTURES, min_size=2, max_size=4), caller=CALLERS, site=st.integers(0, CONNECTIONS - 1))
    def batch(self, drafts: list[Draft], caller: int, site: int) -> None:
        """Capture several items in one transaction, unless states are re-evaluated only after it."""
        if self.shared.is_queued:
            drafts = drafts[:1]
        self._execute([self._call(drafts, None, caller)], site)

    @rule(draft=REVISIONS, key=KEYS, caller=CALLERS, site=st.integers(0, CONNECTIONS - 1))
    def revise(self, draft: Draft, key: str | None, caller: int, site: int) -> None:
        self._execute([self._call([draft], key, caller)], site)

    @rule(drafts=st.lists(REVISIONS, min_size=1, max_size=3), caller=CALLERS, site=st.integers(0, CONNECTIONS - 1))
    def revise_further(self, drafts: list[Draft], caller: int, site: int) -> None:
        """Revise records one after the other."""
        for draft in drafts:
            self._execute([self._call([draft], None, caller)], site)

    @rule(
        drafts=st.lists(weighted((1, CAPTURES), (1, REVISIONS)), min_size=2, max_size=3),
        key=KEYS,
        caller=CALLERS,
        site=st.integers(0, CONNECTIONS - 1),
    )
    def at_once(self, drafts: list[Draft], key: str | None, caller: int, site: int) -> None:
        """Carry out several requests on several connections at the same time."""
        calls = [self._call([draft], key if number == 0 else None, caller) for number, draft in enumerate(drafts)]
        self._execute(calls, site)

    @rule(which=st.integers(0, 3), twice=st.booleans(), site=st.integers(0, CONNECTIONS - 1))
    def again(self, which: int, twice: bool, site: int) -> None:
        """Repeat an earlier request with its idempotency key, possibly on two connections at once."""
        known = sorted(self.keyed)
        if known:
            call = self.keyed[known[which % len(known)]]
            self._execute([call, call] if twice else [call], site)

    @rule(position=st.integers(0, 9), site=st.integers(0, CONNECTIONS - 1))
    def erase(self, position: int, site: int) -> None:
        """Erase a record, with what rests on it alone."""
        items = [item for item in self.model.state.items.values() if item.type in (FACT, EVENT)]
        if not items or position > 3:
            return
        self._count()
        seed = items[-1 - position * 7 % len(items)].id
        self._run(self.shared.sites[site].erasure.erase(self.callers[0], Erase(record_id=seed, rationale="asked for")))
        self._removed(lambda ids: self.model.erase(seed, ids))

    @rule(one=st.integers(0, 9), other=st.integers(0, 9), site=st.integers(0, CONNECTIONS - 1))
    def merge_and_unmerge(self, one: int, other: int, site: int) -> None:
        """Merge two entities and undo that: nothing but versions and audits shows it."""
        entities = self.model.state.current(ENTITY)
        if not entities:
            return
        first, second = entities[one % len(entities)], entities[other % len(entities)]
        if first.id == second.id or first.where != second.where:
            return
        self._count()
        before = described(self.model.state)
        revision, root = self.shared.sites[site].revision, self.callers[0]
        merge = Merge(record_id=first.id, others=(second.id,), rationale="one thing")
        survivor = self._run(revision.revise(root, merge)).record.id
        merged = second.id if survivor == first.id else first.id
        self._run(revision.revise(root, Unmerge(record_id=merged, rationale="two things")))
        found = self._run(self._observed())
        self.model.state.named_anew.add(survivor)
        self.model.rest()
        adopt_versions(self.model.state, found)
        different = difference(self.model, found)
        assert different is None, f"after merging {merged} into {survivor}: {different}\nThe model before:\n{before}"

    @rule(by=st.sampled_from([1, 86_400, 12 * 86_400]), site=st.integers(0, CONNECTIONS - 1))
    def prune(self, by: int, site: int) -> None:
        """Prune what has faded."""
        self._count()
        self._pass(by)
        self._run(self._prune(self.shared.sites[site]))
        self._removed(self.model.prune)

    async def _prune(self, site: Site) -> None:
        while True:
            async with site.database.background(Role.ERASE) as connection:
                batch = await prune_due(connection, site.directory, now=self.shared.clock.now(), limit=1_000)
            if batch.is_done:
                return

    def _removed(self, remove: Callable[[set[UUID]], str | None]) -> None:
        """Compare with the model after a removal of the records that are gone from the store."""
        before = described(self.model.state)
        found = self._run(self._observed(is_erasure=True))
        different = remove(self.model.state.items.keys() - found.rows.keys())
        self.model.rest()
        different = different or difference(self.model, found)
        assert different is None, f"{different}\nThe model before:\n{before}"

    @rule(by=st.sampled_from([1, 60, 1_790, 1_810, 7_200, 86_400, 20 * 86_400]))
    def time_passes(self, by: int) -> None:
        self._count()
        self._pass(by)
        self._compare_now()

    def _pass(self, by: int) -> None:
        self.past = [*self.past[-4:], (self.shared.clock.now() + timedelta(milliseconds=500), self.model.copy())]
        self.shared.clock.forward(timedelta(seconds=by))
        self.model.state.now = self.shared.clock.now()

    @rule(batch=st.sampled_from([1, 3, 1_000]))
    def count_words(self, batch: int) -> None:
        """Count words now rather than at the end, so that later steps change what has been counted."""
        self._run(WordCounter(self.shared.sites[0].database, batch=batch).count_changes())

    @rule(
        subject=st.none() | NAMES,
        position=st.integers(0, 40),
        then=st.none() | st.integers(0, 4),
        caller=CALLERS,
        site=st.integers(0, CONNECTIONS - 1),
    )
    def read(self, subject: str | None, position: int, then: int | None, caller: int, site: int) -> None:
        """Retrieve what is known of a subject, or read one record, as it is or was."""
        self._count()
        if subject is not None:
            self._retrieve(subject, caller, site)
        elif then is None:
            self._look_up(position, caller, site)
        else:
            self._look_back(position, then, site)

    def _retrieve(self, subject: str, caller: int, site: int) -> None:
        """Check that every returned record is current, holds now, and is fully visible to the caller."""
        state, trust = self.model.state, self.callers[caller]
        request = RetrieveRequest(task_descriptor=f"{subject} p q prod dev", root_limit=100, node_limit=100)
        answer = self._run(self.shared.sites[site].retrieve.retrieve(trust, request))
        for node in answer.nodes:
            item = state.items.get(node.record.id)
            assert item is not None, f"{node.record.id} is not in the model"
            seen = shows(trust, item)
            assert seen == ("redacted" if node.record.redacted else "full")
            assert item.state in CURRENT
            assert item.effective.contains(state.now), f"{item.id} does not hold now"
            assert seen == "redacted" or node.record.state.label == item.state

    def _look_up(self, position: int, caller: int, site: int) -> None:
        """Check what a caller sees of a record."""
        ids = [*self.model.state.items, *self.model.state.gone]
        if not ids:
            return
        id_, trust = ids[position % len(ids)], self.callers[caller]
        item = self.model.state.items.get(id_)
        found = self._run(self.shared.sites[site].lookup.record(trust, id_))
        seen = "none" if item is None else shows(trust, item)
        assert seen == ("none" if found is None else "redacted" if found.redacted else "full")

    def _look_back(self, position: int, then: int, site: int) -> None:
        """Read a record as of a past instant."""
        ids = [*self.model.state.items, *self.model.state.gone]
        if not self.past or not ids:
            return
        instant, model = self.past[then % len(self.past)]
        id_ = ids[position % len(ids)]
        found = self._run(self.shared.sites[site].lookup.record(self.callers[0], id_, as_of=instant))
        item = model.state.items.get(id_)
        if item is None or id_ in self.model.state.gone:
            assert found is None
            return
        assert found is not None
        assert (found.state.label, found.version) == (item.state, item.version)
        if (
            item.state not in CURRENT or "supersede" not in item.audit
        ):  # an unmerged record has no event of its salience
            assert found.salience == pytest.approx(item.salience(instant), abs=1e-8)
        if item.type == FACT:
            assert found.payload is not None
            assert {key: found.payload[key] for key in item.content} == item.content
            assert (found.valid_from, found.valid_to) == (item.effective.start, item.effective.end)

    # Executing and comparing

    def _run(self, coroutine: Any) -> Any:
        return self.shared.runner.run(coroutine)

    def _count(self) -> None:
        self.shared.steps += 1

    def _call(self, drafts: Sequence[Draft], key: str | None, caller: int) -> Call:
        now = self.shared.clock.now()
        requests = [request_of(self.model, draft, key, now) for draft in drafts]
        return Call(self.callers[caller], tuple(request for request in requests if request is not None))

    def _execute(self, drafted: Sequence[Call], site: int) -> None:
        calls = [call for call in drafted if call.requests]
        if not calls:
            return
        self._count()
        answers = self._run(self._all(calls, site))
        self._note(calls, answers)
        found = self._run(self._observed())
        differences = []
        for order in permutations(range(len(calls))):
            model = self.model.copy()
            asked = [(calls[position], answers[position]) for position in order]
            different = _replay(model, asked, shows_states=not self.shared.is_queued)
            adopt_times(model.state, found)
            model.rest()
            different = different or difference(model, found)
            if different is None:
                self.model = model
                return
            differences.append(f"in the order {order}: {different}")
        story = "\n".join(
            f"  {call.trust.actor}: {list(call.requests)} -> {_told(answer)}"
            for call, answer in zip(calls, answers, strict=True)
        )
        raise AssertionError(
            f"no order of\n{story}\nleads to the state of the store:\n"
            + "\n".join(differences)
            + f"\nThe model before:\n{described(self.model.state)}"
        )

    def _note(self, calls: Sequence[Call], answers: Sequence[Got]) -> None:
        for call, answer in zip(calls, answers, strict=True):
            how = type(answer).__name__ if isinstance(answer, StratagraphError) else "done"
            for request in call.requests:
                self.shared.outcomes[f"{_kind(request)}: {how}"] += 1
                if request.idempotency_key is not None:
                    self.keyed.setdefault(request.idempotency_key, call)

    async def _all(self, calls: Sequence[Call], site: int) -> list[Got]:
        return await asyncio.gather(*(self._ask(call, site + position) for position, call in enumerate(calls)))

    async def _ask(self, call: Call, site: int) -> Got:
        services = self.shared.sites[site % CONNECTIONS]
        try:
            captures = [request for request in call.requests if isinstance(request, CaptureRequest)]
            if captures:
                return await services.capture.capture(call.trust, captures, batch=len(captures) > 1)
            (request,) = call.requests
            assert isinstance(request, Revise)
            return await services.revision.revise(call.trust, request)
        except StratagraphError as error:
            return error

    def _compare_now(self) -> None:
        different = difference(self.model, self._run(self._observed()))
        assert different is None, different

    async def _observed(self, *, is_erasure: bool = False) -> Found:
        """Run the jobs and read the store. An erasure rewrites other records without making a version of them."""
        site = self.shared.sites[0]
        now = self.shared.clock.now()
        for queue, work in (("link_request", link_due), ("reevaluation", reevaluate_due)):
            while (last := await _last_queued(site.database, queue)) is not None:
                late = max(now + LATE, last)
                if not (await work(site.database, site.directory, now=late, batch=100)).due:
                    break
        assert self.root is not None
        found = await observe_store(site.database, site.directory, self.root, now)
        for id_, row in found.rows.items():
            before = self.seen.get(id_)
            if before is not None and before[0] != row["row_version"] and not is_erasure:
                found.problems += [f"{id_}: updated_at did not increase"] * (row["updated_at"] <= before[1])
            self.seen[id_] = (row["row_version"], row["updated_at"])
        return found

    def teardown(self) -> None:
        if self.root is not None:
            site = self.shared.sites[0]
            found = self._run(verify_chains(site.database, site.directory.vault, tenant=self.root.tenant.name))
            assert found.whole, found.problems
            self._run(count_all_words(site.database))
            assert self._run(count_differences(site.database)) == []


def _replay(model: Model, asked: Sequence[tuple[Call, Got]], *, shows_states: bool) -> str | None:
    """Apply the calls to the model in this order; return the first answer that differs, or None.

    With `shows_states`, the records in an answer must have the states that follow from the whole request.
    """
    for call, answer in asked:
        before = model.state.copy()
        answers = answer if isinstance(answer, list) else [answer] * len(call.requests)
        try:
            expected = _expected(model, call, answers)
        except Refused as refused:
            model.state.become(before)  # a batch is stored as a whole or not at all
            if type(answer) is not refused.error:
                return f"{[_kind(request) for request in call.requests]}: expected {refused.error.__name__}"
            continue
        except Impossible as impossible:
            return f"{impossible} ({answer!r})" if isinstance(answer, StratagraphError) else str(impossible)
        if isinstance(answer, StratagraphError):
            return f"{[_kind(request) for request in call.requests]}: expected no {type(answer).__name__} ({answer})"
        found = [one for one in answers if not isinstance(one, StratagraphError)]
        differences = [_answer_differs(*both) for both in zip(expected, found, strict=True)]
        if shows_states and isinstance(answer, list):
            differences.append(_shown_differently(model, call.trust, answer))
        different = next((one for one in differences if one is not None), None)
        if different is not None:
            return different
    return None


def _expected(model: Model, call: Call, answers: Sequence[Captured | Revised | StratagraphError]) -> list[Answer]:
    """Apply the requests of a call to the model, with the ids that the store assigned."""
    model.check(call.requests, call.trust)
    return [
        model.apply(request, call.trust, _names(model, answer))
        for request, answer in zip(call.requests, answers, strict=True)
    ]


def _answer_differs(expected: Answer, answer: Captured | Revised) -> str | None:
    primary = answer.primary if isinstance(answer, Captured) else answer.record
    if (primary.id, answer.replayed) != (expected.record, expected.replayed):
        return f"expected {expected.record}, replayed {expected.replayed}"
    if not isinstance(answer, Captured) or answer.replayed:
        return None
    names = Counter((fold_name(one.name), one.outcome.name.lower(), one.entity) for one in answer.mentions)
    wanted = Counter((fold_name(one.name), one.outcome, one.entity) for one in expected.mentions)
    if names != wanted:
        return f"the receipt lists the names {dict(names)}, expected {dict(wanted)}"
    changes = {(one.record.id, one.effect.value) for one in answer.changes}
    if changes != expected.changes:
        return f"the receipt lists the changes {changes}, expected {expected.changes}"
    return None


def _shown_differently(model: Model, trust: Trust, answers: Sequence[Captured]) -> str | None:
    """Return the first record of the answers to a batch that is not as the model has it after the whole batch."""
    for answer in answers:
        for record in (answer.primary, *answer.created, *(one.record for one in answer.changes)):
            item = model.state.items.get(record.id)
            seen = "none" if item is None else shows(trust, item)
            if seen != ("redacted" if record.redacted else "full"):
                return f"{record.id} is shown {'redacted' if record.redacted else 'in full'}"
            if (
                item is not None
                and seen == "full"
                and (record.state.label, record.version) != (item.state, item.version)
            ):
                shown = f"{record.state.label} v{record.version}"
                return f"{record.id} is shown {shown}, expected {item.state} v{item.version}"
    return None


async def _last_queued(database: Database, queue: str) -> datetime | None:
    """Return the instant at which the last entry of a queue that still waits was queued; None if none does.

    That may be later than LATE: what the jobs write at the instant LATE, the next step writes a microsecond later.
    """
    async with database.engine.begin() as connection:
        statement = text(f"SELECT max(queued_at) FROM {queue}")  # noqa: S608 - our own names
        last: datetime | None = (await connection.execute(statement)).scalar_one()
    return last


def _kind(request: Request) -> str:
    return request.source_kind.value if isinstance(request, CaptureRequest) else request.kind


def _told(answer: Got) -> str:
    if isinstance(answer, list):
        return str([one.primary.id for one in answer])
    return repr(answer) if isinstance(answer, StratagraphError) else str(answer.record.id)


def _names(model: Model, answer: Captured | Revised | StratagraphError) -> Names:
    if isinstance(answer, StratagraphError):
        return Names(record=uuid4(), event=uuid4(), episode=uuid4(), candidate="", entities=AnyName())
    primary = answer.primary if isinstance(answer, Captured) else answer.record
    made = answer.created if isinstance(answer, Captured) else answer.records
    new = [one for one in made if one.id not in (*model.state.items, primary.id)]
    events = [one.id for one in new if one.type is MemoryType.EPISODIC]
    entities: dict[str, list[UUID]] = {}
    for one in new:
        if one.type is MemoryType.ENTITY and one.payload is not None:
            entities.setdefault(one.payload["canonical_name"], []).append(one.id)
    beside = events[0] if events else uuid4()
    return Names(record=primary.id, event=beside, episode=beside, candidate=str(answer.candidate), entities=entities)


class AnyName(dict[str, list[UUID]]):
    """A new id for every entity of a request that the store refused."""

    def get(self, key: str, default: Any = None) -> list[UUID]:
        return [uuid4()]
