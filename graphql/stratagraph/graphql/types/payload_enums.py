"""The closed vocabularies within payloads. Their values are the words of the JSON form."""

from __future__ import annotations

from enum import Enum

import strawberry


@strawberry.enum(description="When a fact holds.")
class ValidityMode(Enum):
    GLOBAL = strawberry.enum_value("global", description="Always, as far as is known.")
    CONDITIONAL = strawberry.enum_value("conditional", description="Under its conditions.")
    TIMEBOXED = strawberry.enum_value("timeboxed", description="Between its start and its end.")


@strawberry.enum(description="What becomes of the facts that a new one contradicts.")
class RevisionPolicy(Enum):
    REPLACE = strawberry.enum_value("replace", description="They are superseded, or end where the new one begins.")
    FORK = strawberry.enum_value("fork", description="None may be there: the fact is refused with CONDITIONS_OVERLAP.")
    CONTEST = strawberry.enum_value("contest", description="They and the new one are in dispute.")


@strawberry.enum(description="State of a task.")
class TaskState(Enum):
    PLANNING = strawberry.enum_value("planning", description="It is being planned.")
    EXECUTING = strawberry.enum_value("executing", description="It is being done.")
    BLOCKED = strawberry.enum_value("blocked", description="Something keeps it from going on.")
    WAITING = strawberry.enum_value("waiting", description="It waits for somebody or something.")
    DONE = strawberry.enum_value("done", description="It is done, and its working record may be pruned.")


@strawberry.enum(description="Kind of a source.")
class EvidenceKind(Enum):
    EVENT = strawberry.enum_value("event", description="Something that happened, such as a message.")
    ARTIFACT = strawberry.enum_value("artifact", description="A file or a document.")
    TOOL_CALL = strawberry.enum_value("tool_call", description="A call of a tool.")
    OBSERVATION = strawberry.enum_value("observation", description="A fact that was observed, such as a record.")
    OUTCOME = strawberry.enum_value("outcome", description="How a task ended.")
    HUMAN = strawberry.enum_value("human", description="A person who said so.")
