"""A model of memory in a few dictionaries, after docs/specification.md (Relations, Trust, Capture, Revision).

It takes the same requests as the store and returns the expected results. It has one tenant, and takes the time as an
argument. A refused request changes nothing. Its modules, one subject each: `intervals` (valid time), `names` (resolving
a mention), `entities`, `slots`, `facts`, `support`, `revisions`, `removals`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from uuid import UUID

from model.entities import AMBIGUOUS, CREATED, MATCHED, TAUGHT, Named, add_entity, find, mention_of, teach
from model.facts import observe
from model.linking import link_names
from model.records import (
    ACTIVE,
    ENTITY,
    EVENT,
    FACT,
    SILENCE,
    WORKING,
    Impossible,
    Names,
    Refused,
    Scope,
    shows,
    writes,
)
from model.removals import erase, erased_with, prunable, prune
from model.revisions import revise
from model.state import State
from model.support import settle

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.revise.request import Revise
from stratagraph.store.model.enums import MemoryType, Sensitivity, SourceKind
from stratagraph.store.model.errors import Forbidden, IdempotencyMismatch, InvalidInput, SourceErased
from stratagraph.store.model.trust import Trust

Request = CaptureRequest | Revise

__all__ = ["Answer", "Impossible", "Model", "Names", "Refused", "Request"]


@dataclass(slots=True)
class Answer:
    """The expected answer: the current record, whether it is a replay, and what the receipt lists."""

    record: UUID
    replayed: bool = False
    mentions: list[Named] = field(default_factory=list)
    changes: set[tuple[UUID, str]] = field(default_factory=set)  # (record, effect)


@dataclass(slots=True)
class Model:
    state: State = field(default_factory=State)

    def copy(self) -> Model:
        return Model(self.state.copy())

    @staticmethod
    def check(requests: Iterable[Request], trust: Trust) -> None:
        """Raise Refused for the first request of a batch that its caller may not write; all are checked at first."""
        for request in requests:
            if isinstance(request, CaptureRequest):
                _where(request, trust)

    def apply(self, request: Request, trust: Trust, names: Names) -> Answer:
        """Carry out `request` and return the expected answer.

        Raises Refused, and leaves the model unchanged then.
        """
        before = self.state.copy()
        self.state.notes = set()
        try:
            self.state.caller = trust
            try:
                return self._apply(request, trust, names)
            finally:
                self.state.caller = None
        except Refused:
            self.state.become(before)
            raise

    def _apply(self, request: Request, trust: Trust, names: Names) -> Answer:
        key = None if request.idempotency_key is None else (trust.actor, request.idempotency_key)
        where = _where(request, trust) if isinstance(request, CaptureRequest) else ("", 0)
        if key is not None and key in self.state.keys:
            known, record = self.state.keys[key]
            if known != request:
                raise Refused(IdempotencyMismatch)
            item = self.state.items.get(record)
            if isinstance(request, CaptureRequest) and (item is None or shows(trust, item) == "none"):
                raise Refused(IdempotencyMismatch)
            return Answer(record, replayed=True)
        if key is not None and isinstance(request, CaptureRequest) and (where, key[1]) in self.state.erased_keys:
            raise Refused(SourceErased)
        if isinstance(request, CaptureRequest):
            record, mentions = self._capture(request, trust, where, names)
        else:
            record, mentions = revise(self.state, request, trust, names), []
        settle(self.state)
        if key is not None:
            self.state.keys[key] = (request, record)
        seen = {(id_, effect) for id_, effect in self.state.notes if self._shows(trust, id_)}
        return Answer(record, mentions=mentions, changes=seen)

    def rest(self) -> None:
        """Do what the background jobs do."""
        link_names(self.state)

    def prune(self, ids: Collection[UUID]) -> str | None:
        """Remove the records that the store has pruned; return what is wrong with them, or None."""
        state = self.state
        entities = {id_ for id_ in ids if state.items[id_].type == ENTITY}
        expected = prunable(state)
        if expected != set(ids) - entities:
            return f"pruned {sorted(ids)}, expected {sorted(expected)}"
        prune(state, ids)
        wrong = self._named_among(entities)
        return f"pruned entities that facts name: {wrong}" if wrong else None

    def erase(self, seed: UUID, ids: Collection[UUID]) -> str | None:
        """Remove the records that the store has erased with one; return what is wrong with them, or None."""
        state = self.state
        entities = {id_ for id_ in ids if state.items[id_].type == ENTITY}
        expected = erased_with(state, seed)
        if expected != set(ids) - entities:
            return f"erased {sorted(ids)}, expected {sorted(expected)}"
        for key, (request, record) in list(state.keys.items()):
            if record in ids:
                del state.keys[key]
            if record in ids and isinstance(request, CaptureRequest):
                state.erased_keys.add((state.items[record].where, key[1]))
        erase(state, ids)
        wrong = self._named_among(entities)
        return f"erased entities that facts name: {wrong}" if wrong else None

    def _named_among(self, entities: Collection[UUID]) -> set[UUID]:
        """Return those of the entities that a current fact names."""
        facts = [item.fact for item in self.state.current(FACT) if item.fact is not None]
        return {id_ for id_ in entities if any(("entity", id_) in (fact.subject, fact.object) for fact in facts)}

    def _shows(self, trust: Trust, id_: UUID) -> bool:
        return id_ in self.state.items and shows(trust, self.state.items[id_]) != "none"

    def _capture(self, request: CaptureRequest, trust: Trust, where: Scope, names: Names) -> tuple[UUID, list[Named]]:
        if request.proposed_type is MemoryType.ENTITY:
            return self._introduce(request, where, names)
        if request.source_kind is SourceKind.OBSERVATION:
            return observe(self.state, request, trust, where, names)
        if request.source_kind is SourceKind.WORKING_STATE:
            return self._work(request, where, names), []
        return self._happen(request, where, names), []

    def _introduce(self, request: CaptureRequest, where: Scope, names: Names) -> tuple[UUID, list[Named]]:
        """Capture an entity: make it, or teach the one that it resolves to."""
        state, content, at = self.state, dict(request.content), request.timestamp or self.state.now
        mention = mention_of(content, *where)
        found = find(state, mention)
        if found.entity is None:
            add_entity(state, names.record, where, content, occurred_at=at)
            outcome = AMBIGUOUS if found.is_ambiguous else CREATED
            return names.record, [Named(mention.name, outcome, names.record, found.candidates)]
        taught = teach(state, state.items[found.entity], mention, content=content)
        return found.entity, [Named(mention.name, TAUGHT if taught else MATCHED, found.entity)]

    def _happen(self, request: CaptureRequest, where: Scope, names: Names) -> UUID:
        """Capture an event, which joins the open episode of its thread."""
        state, at = self.state, request.timestamp or self.state.now
        state.add(names.record, EVENT, where, dict(request.content), occurred_at=at)
        thread = request.content.get("thread_id")
        if thread is not None:
            episode, closes = state.threads.get((where, thread), (None, state.now))
            if episode is None or closes <= state.now:
                episode = state.add(names.episode, EVENT, where, {}, occurred_at=at).id
            state.members[names.record] = episode
            state.threads[where, thread] = (episode, state.now + SILENCE)
        return names.record

    def _work(self, request: CaptureRequest, where: Scope, names: Names) -> UUID:
        """Capture a working state: what it does not mention stays, and null clears a field."""
        thread = request.content["thread_id"]
        for item in self.state.items.values():
            is_same = item.type == WORKING and item.where == where and item.content["thread_id"] == thread
            if is_same and item.state == ACTIVE:
                changed = {**item.content, **request.content}
                item.content = {key: value for key, value in changed.items() if value is not None}
                item.version += 1
                item.audit.append("revise")
                item.note_task(self.state.now)
                self.state.notes.add((item.id, "revised"))
                return item.id
        content = {key: value for key, value in request.content.items() if value is not None}
        self.state.add(names.record, WORKING, where, content).note_task(self.state.now)
        return names.record


def _where(request: CaptureRequest, trust: Trust) -> Scope:
    """Return scope and sensitivity of a new record; refuse those that the caller may not write."""
    scope = request.scope
    if scope is None:
        if trust.scopes is not None and len(trust.scopes) != 1:
            raise Refused(InvalidInput)
        scope = "" if trust.scopes is None else next(iter(trust.scopes))
    elif not writes(trust, scope):
        raise Refused(Forbidden)
    sensitivity = request.sensitivity if request.sensitivity is not None else min(Sensitivity.LOW, trust.ceiling)
    if sensitivity > trust.ceiling:
        raise Refused(Forbidden)
    return scope, int(sensitivity)
