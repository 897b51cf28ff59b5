"""The values of the model of memory: records, what identifies a fact, callers, and the ways an operation ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from model.intervals import Interval

from stratagraph.store.model.errors import StratagraphError
from stratagraph.store.model.trust import Trust

ACTIVE, CONTESTED, SUPERSEDED, RETRACTED = "active", "contested", "superseded", "retracted"
CURRENT = (ACTIVE, CONTESTED)
FACT, EVENT, WORKING, ENTITY = "semantic", "episodic", "working", "entity"
GAIN = 0.1
FADED = 0.001
SILENCE = timedelta(minutes=30)
HALF_LIFE_S = {FACT: 30 * 86_400.0, ENTITY: 30 * 86_400.0, WORKING: 86_400.0, EVENT: 3_600.0}

Scope = tuple[str, int]  # scope and sensitivity
Subject = tuple[str, Any]  # ("entity", id), ("literal", folded text) or ("ambiguous", folded text)
Object = tuple[str, Any]  # ("entity", id) or ("literal", canonical value)
Slot = tuple[Scope, Subject, str]


class Refused(Exception):
    """The specification refuses the request, with this class of error."""

    def __init__(self, error: type[StratagraphError]) -> None:
        super().__init__(error.__name__)
        self.error = error


class Impossible(Exception):
    """The answer is impossible for this request in this state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The ids that the store assigned for a request: record, additional event, episode, candidate, new entities."""

    record: UUID
    event: UUID
    episode: UUID
    candidate: str
    entities: dict[str, list[UUID]] = field(default_factory=dict)  # by canonical name


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What a fact states, and the entities that its subject and object resolved to."""

    subject: Subject
    predicate: str
    object: Object
    conditions: dict[str, Any]
    stated: Interval

    @property
    def is_ambiguous(self) -> bool:
        return self.subject[0] == "ambiguous"


@dataclass(frozen=True, slots=True)
class Trim:
    """One end of a fact's effective interval, which another fact has set to `at`."""

    fact: UUID
    end: str  # "start" or "end"
    at: datetime
    by: UUID


@dataclass(slots=True, kw_only=True)
class Item:
    """A record of the model."""

    id: UUID
    type: str
    scope: str
    sensitivity: int
    content: dict[str, Any]
    t0: datetime
    half_life_s: float
    occurred_at: datetime
    created_at: datetime | None = None  # as the store says; writes of one moment differ in microseconds
    s: float = 1.0
    state: str = ACTIVE
    version: int = 1
    pinned: bool = False
    sources: dict[str, datetime] = field(default_factory=dict)  # when each was observed, by its ref
    evidence: tuple[str, ...] = ()  # refs that its payload names
    superseded_by: UUID | None = None
    audit: list[str] = field(default_factory=lambda: ["create"])
    fact: Fact | None = None
    policy: str | None = None  # the revision policy that its payload names
    against: UUID | None = None  # the record that it was captured to contest
    effective: Interval = field(default_factory=Interval)
    evidence_at: datetime | None = None  # the time of its latest evidence

    def salience(self, now: datetime) -> float:
        elapsed = 0.0 if self.pinned else max(0.0, (now - self.t0).total_seconds())
        return self.s * math.pow(2.0, -elapsed / self.half_life_s)

    def note_task(self, now: datetime) -> None:
        """Let the salience of a working record follow its state: 0 once its task is done, 1 where it goes on."""
        is_done = self.content["state"] == "done"
        if not self.pinned and is_done is not (self.s == 0):
            self.s, self.t0 = (0.0 if is_done else 1.0), now
            self.audit.append("decay" if is_done else "revise")

    @property
    def where(self) -> Scope:
        return self.scope, self.sensitivity

    @property
    def is_current(self) -> bool:
        return self.state in CURRENT

    @property
    def age(self) -> tuple[bool, datetime | None, UUID]:
        return self.created_at is None, self.created_at, self.id

    @property
    def latest_evidence(self) -> datetime:
        return max(at for at in (self.occurred_at, self.evidence_at, *self.sources.values()) if at is not None)


def shows(trust: Trust, item: Item) -> str:
    """Return what a caller sees of a record: full, redacted or none."""
    if trust.scopes is not None and item.scope not in (*trust.scopes, ""):
        return "none"
    if item.sensitivity <= int(trust.ceiling):
        return "full"
    return "redacted" if item.sensitivity == int(trust.ceiling) + 1 else "none"


def writes(trust: Trust, scope: str) -> bool:
    return trust.scopes is None or scope in trust.scopes
