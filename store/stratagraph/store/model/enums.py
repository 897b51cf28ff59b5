"""The closed vocabularies. The database stores the values; JSON shows the names in lower case."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Self

from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

COUNTER_EVIDENCE = "counter_evidence"  # event kind of evidence that was captured to contest a record


class NamedEnum(IntEnum):
    """An enum that is a number in the database and a lower-case word everywhere else."""

    @property
    def label(self) -> str:
        """The member's word."""
        return self.name.lower()

    @classmethod
    def parse(cls, label: str, *, path: list[str]) -> Self:
        """Return the member with this word. Raises InvalidInput, listing the words, if there is none."""
        try:
            return cls[label.upper()]
        except KeyError:
            known = ", ".join(member.label for member in cls)
            raise InvalidInput(f"{'.'.join(path)}: {shown(label)} is none of {known}", path=path) from None


class MemoryType(NamedEnum):
    EPISODIC = 1  # something that happened
    WORKING = 2  # what is being done
    ENTITY = 3  # a person or thing with a name
    SEMANTIC = 4  # a fact
    COMPETENCE = 5  # how to do something
    PLAN_GRAPH = 6  # a sequence of steps that solved a task


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
    AUTO_PRUNE = 1  # pruned when its salience has decayed
    MANUAL_ONLY = 2  # deleted by an explicit request only
    NEVER = 3  # never pruned; a request to delete it is refused


class Access(NamedEnum):
    READ = 1
    WRITE = 2
    ADMIN = 3


class Outcome(NamedEnum):
    SUCCESS = 1
    FAILURE = 2
    PARTIAL = 3


class SourceKind(StrEnum):
    """The origin of a capture, which decides the type of the record that it becomes."""

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
