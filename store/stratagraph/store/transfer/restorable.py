"""A record of an export, with everything that this instance computes of it by keys of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import MemoryType, RecordState
from stratagraph.store.model.exported import Content, Period, RecordLine
from stratagraph.store.model.salience import Decay, Salience
from stratagraph.store.model.valid_time import Interval
from stratagraph.store.model.words import Terms
from stratagraph.store.records.entities import Mention, terms_of
from stratagraph.store.records.episodes import thread_key
from stratagraph.store.records.erased_sources import Source, ref_hash, thread_hash
from stratagraph.store.records.fact_keys import FactEntities, FactKeys, Slot, fact_keys
from stratagraph.store.records.handles import handle_key
from stratagraph.store.records.name_index import Term

_NO_REF = ("candidate:", "thread:")  # begin the references of sources that are no ref of an event
_CAPTURED_BY = "capture/"
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, kw_only=True)
class Restorable:
    """A record to restore. `scope` is the number of its scope here, `words` computes the terms of its versions."""

    tenant: Tenant
    line: RecordLine
    scope: int
    words: Callable[[RecordLine, Content], Terms]
    keys: FactKeys | None
    terms_of_names: tuple[Term, ...]
    handle: str | None
    salience: Salience

    @classmethod
    def of(
        cls, tenant: Tenant, line: RecordLine, *, scope: int, words: Callable[[RecordLine, Content], Terms]
    ) -> Restorable:
        """Compute what this instance has of a checked record. Raises InvalidInput for keys that it does not have."""
        return cls(
            tenant=tenant,
            line=line,
            scope=scope,
            words=words,
            keys=_keys(tenant, line),
            terms_of_names=_names(tenant, line, scope),
            handle=_handle(line),
            salience=_salience(line),
        )

    @property
    def id(self) -> UUID:
        return self.line.id

    @cached_property
    def terms(self) -> Terms:
        """The terms by which the record is found."""
        return self.words(self.line, self.line.content)

    @cached_property
    def past_terms(self) -> tuple[Terms, ...]:
        """Those by which its earlier versions are found."""
        return tuple(self.words(self.line, past.content) for past in self.line.history)

    @property
    def thread(self) -> str | None:
        """The name of the thread of an episode; None of any other record."""
        if self.line.episode is None:
            return None
        name = self.line.content.payload.get("thread_id")
        return name if isinstance(name, str) else None

    @cached_property
    def thread_key(self) -> bytes | None:
        return None if self.thread is None else thread_key(self.tenant, self.thread)

    @cached_property
    def handle_key(self) -> bytes | None:
        return None if self.handle is None else handle_key(self.tenant, self.line.type, self.handle)

    @property
    def is_current_working(self) -> bool:
        return self.line.type is MemoryType.WORKING and self.line.state is RecordState.ACTIVE

    @property
    def is_current(self) -> bool:
        return self.line.state <= RecordState.CONTESTED

    @property
    def is_open_episode(self) -> bool:
        return self.line.episode is not None and self.line.episode.closed_at is None

    @property
    def is_single_valued(self) -> bool:
        return self.line.fact is not None and self.line.fact.single_valued

    @property
    def validity(self) -> str | None:
        """The effective validity of a fact, as a range in text form."""
        return None if self.line.fact is None else range_of(self.line.fact.validity)

    @property
    def slot(self) -> Slot | None:
        return None if self.keys is None else Slot(self.scope, int(self.line.sensitivity), self.keys.slot)

    @cached_property
    def sources(self) -> frozenset[Source]:
        """The sources that an erasure here may have named: the ref of an event, and the thread of an episode."""
        if self.line.type is not MemoryType.EPISODIC:
            return frozenset()
        hashes = [] if self.handle is None else [ref_hash(self.tenant, self.handle)]
        hashes += [] if self.thread is None else [thread_hash(self.tenant, self.thread)]
        return frozenset(Source(one, self.scope, int(self.line.sensitivity)) for one in hashes)


def range_of(period: Period) -> str:
    """Return a period as a PostgreSQL range in text form."""
    return "empty" if period.empty else str(Interval(period.start, period.end))


def _keys(tenant: Tenant, line: RecordLine) -> FactKeys | None:
    if line.fact is None:
        return None
    fact = line.fact
    entities = FactEntities(
        subject=fact.subject_entity, object=fact.object_entity, subject_is_ambiguous=fact.subject_is_ambiguous
    )
    return fact_keys(tenant, line.content.payload, entities)


def _names(tenant: Tenant, line: RecordLine, scope: int) -> tuple[Term, ...]:
    """Return the terms by which a current entity is found; none for one that was merged or retracted."""
    if line.type is not MemoryType.ENTITY or line.state > RecordState.CONTESTED:
        return ()
    payload = line.content.payload
    mention = Mention(
        name=payload["canonical_name"],
        scope=scope,
        sensitivity=int(line.sensitivity),
        type=payload.get("primary_type"),
        types=tuple(payload.get("types") or ()),
        identifiers=tuple((one["namespace"], one["value"]) for one in payload.get("identifiers") or ()),
        aliases=tuple(one["value"] for one in payload.get("aliases") or ()),
    )
    return tuple(terms_of(tenant, mention))


def _handle(line: RecordLine) -> str | None:
    """Return the name that a caller has given the record: the ref of an event, or what its payload has as its name."""
    payload = line.content.payload
    name: Any = None
    match line.type:
        case MemoryType.WORKING:
            name = payload["thread_id"]
        case MemoryType.COMPETENCE:
            name = payload["skill_name"]
        case MemoryType.PLAN_GRAPH:
            name = payload["plan_id"]
        case MemoryType.EPISODIC:
            name = _ref_of_event(line)
        case _:
            pass
    return name or None


def _ref_of_event(line: RecordLine) -> str | None:
    """Return the ref that an event or a whole episode was captured with, which its source or its timeline names."""
    provenance, timeline = line.content.provenance, line.content.payload.get("timeline") or []
    if not str(provenance.get("created_by")).startswith(_CAPTURED_BY):
        return None
    refs = [one.get("ref") for one in provenance.get("sources") or () if isinstance(one, dict)]
    if len(timeline) == 1 and line.episode is None:
        refs.append(timeline[0].get("ref"))
    return next((ref for ref in refs if isinstance(ref, str) and ref and not _is_record(ref)), None)


def _is_record(ref: str) -> bool:
    """Return whether the reference of a source is that of a capture without a ref, of a thread, or of a record."""
    return ref.startswith(_NO_REF) or _ID.fullmatch(ref) is not None


def _salience(line: RecordLine) -> Salience:
    cycle = line.lifecycle
    salience = Salience(
        s=cycle.s,
        t0=cycle.t0,
        created_at=line.created_at,
        decay=Decay(
            curve=cycle.curve,
            half_life_s=cycle.half_life_s,
            min_salience=cycle.min_salience,
            max_age_s=cycle.max_age_s,
            reinforcement_gain=cycle.reinforcement_gain,
            params=cycle.params,
        ),
        pinned=cycle.pinned,
        deletion_policy=cycle.deletion_policy,
        last_reinforced_at=cycle.last_reinforced_at,
        is_withdrawn=line.state > RecordState.CONTESTED,
    )
    salience.due_at()  # raises InvalidInput for a curve that this instance does not have
    return salience
