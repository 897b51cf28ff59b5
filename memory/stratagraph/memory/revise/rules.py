"""Which revisions of which types of records are possible, and which need evidence. Pure.

A test compares what is listed here with what each revision does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import Enum

from stratagraph.store.model.enums import MemoryType

_ALL = frozenset(MemoryType)
_REVISED = _ALL - {MemoryType.EPISODIC}


class Kind(Enum):
    """A revision, by the name of its mutation."""

    SUPERSEDE = "supersede"
    AMEND = "amend"
    FORK = "fork"
    CONTEST = "contest"
    RESOLVE_CONTEST = "resolveContest"
    RETRACT = "retract"
    MERGE = "merge"
    UNMERGE = "unmerge"
    REJECT_DUPLICATE = "rejectDuplicate"
    DELETE_RECORD = "deleteRecord"
    REINFORCE = "reinforce"
    PENALIZE = "penalize"
    PIN = "pin"
    VERIFY_LESSON = "verifyLesson"
    REMOVE_LESSON = "removeLesson"


class Need(Enum):
    """Whether a revision needs evidence."""

    NONE = "none"  # it takes none
    OPTIONAL = "optional"
    WITHOUT_RECORD = "without record"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Rule:
    """Whether a revision of a record of a type is possible, and whether it needs evidence."""

    kind: Kind
    type: MemoryType
    is_allowed: bool
    evidence: Need


_TYPES: dict[Kind, Collection[MemoryType]] = {
    Kind.FORK: {MemoryType.SEMANTIC, MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH},
    Kind.MERGE: _REVISED - {MemoryType.WORKING},
    Kind.UNMERGE: {MemoryType.ENTITY},
    Kind.REJECT_DUPLICATE: _ALL,
    Kind.REINFORCE: _ALL,
    Kind.PENALIZE: _ALL,
    Kind.PIN: _ALL,
    Kind.VERIFY_LESSON: {MemoryType.COMPETENCE},
    Kind.REMOVE_LESSON: {MemoryType.COMPETENCE},
}
_WITH_PAYLOAD = (Kind.SUPERSEDE, Kind.AMEND, Kind.FORK)


def rules() -> Iterator[Rule]:
    """Yield a rule for each revision and type."""
    for kind in Kind:
        for type_ in MemoryType:
            yield Rule(kind, type_, type_ in _TYPES.get(kind, _REVISED), _need(kind, type_))


def _need(kind: Kind, type_: MemoryType) -> Need:
    if type_ not in _TYPES.get(kind, _REVISED):
        return Need.NONE
    if kind is Kind.CONTEST:
        return Need.WITHOUT_RECORD
    if kind not in _WITH_PAYLOAD:
        return Need.NONE
    return Need.REQUIRED if type_ is MemoryType.SEMANTIC else Need.OPTIONAL
