"""The closed vocabularies. Values are what the database stores; names, in lower case, are what JSON shows."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Self

from stratagraph.store.model.errors import InvalidInput


class NamedEnum(IntEnum):
    """A number in the database, a lower-case word everywhere else."""

    @property
    def label(self) -> str:
        return self.name.lower()

    @classmethod
    def parse(cls, label: str, *, path: list[str]) -> Self:
        """Raises InvalidInput listing the words there are."""
        try:
            return cls[label.upper()]
        except KeyError:
            known = ", ".join(member.label for member in cls)
            raise InvalidInput(f"{'.'.join(path)}: {label!r} is none of {known}", path=path) from None


class MemoryType(NamedEnum):
    EPISODIC = 1  # what happened
    WORKING = 2  # what are we doing
    ENTITY = 3  # who and what is named
    SEMANTIC = 4  # what is true
    COMPETENCE = 5  # how to do it
    PLAN_GRAPH = 6  # which sequence solved it


class Sensitivity(NamedEnum):
    PUBLIC = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    HYPER = 4


class RecordState(NamedEnum):
    ACTIVE = 1  # part of the current truth
    CONTESTED = 2  # in doubt until resolved
    SUPERSEDED = 3  # replaced by another record
    RETRACTED = 4  # withdrawn


class Curve(NamedEnum):
    EXPONENTIAL = 1
    LINEAR = 2
    CUSTOM = 3


class DeletionPolicy(NamedEnum):
    AUTO_PRUNE = 1  # goes when its salience has decayed
    MANUAL_ONLY = 2  # goes by an explicit delete
    NEVER = 3  # deleting it is refused


class Access(NamedEnum):
    READ = 1
    WRITE = 2
    ADMIN = 3


class Outcome(NamedEnum):
    SUCCESS = 1
    FAILURE = 2
    PARTIAL = 3


class SourceKind(StrEnum):
    """Where a capture comes from; decides what kind of memory it becomes."""

    EVENT = "event"
    TOOL_OUTPUT = "tool_output"
    OBSERVATION = "observation"
    OUTCOME = "outcome"
    WORKING_STATE = "working_state"
    AGENT_TURN = "agent_turn"
    EPISODE = "episode"


class AuditAction(StrEnum):
    CREATE = "create"
    REVISE = "revise"
    FORK = "fork"
    MERGE = "merge"
    DELETE = "delete"
    REINFORCE = "reinforce"
    DECAY = "decay"
    CONTEST = "contest"
    RETRACT = "retract"
    SUPERSEDE = "supersede"
    APPEND = "append"
    CLOSE = "close"
