"""The closed vocabularies, in GraphQL."""

from __future__ import annotations

from enum import Enum

import strawberry

from stratagraph.store.model.enums import Curve, DeletionPolicy, MemoryType, RecordState, Sensitivity, SourceKind

# The domain's own enums serve: registering one tells Strawberry its name and says what it is.
strawberry.enum(MemoryType, description="Which question a memory answers.")
strawberry.enum(Sensitivity, description="Who may see it; ordered from PUBLIC to HYPER.")
strawberry.enum(RecordState, description="Whether a record is part of the current truth.")
strawberry.enum(SourceKind, description="Where a capture comes from; decides what kind of memory it becomes.")
strawberry.enum(Curve, name="DecayCurve", description="How salience falls with time.")
strawberry.enum(DeletionPolicy, description="How a record may go.")


@strawberry.enum(description="The engine that walked the graph.")
class Engine(Enum):
    SQL = "sql"
    NEO4J = "neo4j"


@strawberry.enum(description="CONTROL: must come before. DATA: hands its output on.")
class PlanLinkKind(Enum):
    CONTROL = "control"
    DATA = "data"


@strawberry.enum(description="What a caller can act on.")
class ErrorCode(Enum):
    INVALID_INPUT = "INVALID_INPUT"
    NOT_FOUND = "NOT_FOUND"
    FORBIDDEN = "FORBIDDEN"
    VERSION_CONFLICT = "VERSION_CONFLICT"
    EPISODIC_IMMUTABLE = "EPISODIC_IMMUTABLE"
    EVIDENCE_REQUIRED = "EVIDENCE_REQUIRED"
    CONDITIONS_OVERLAP = "CONDITIONS_OVERLAP"
    IDEMPOTENCY_MISMATCH = "IDEMPOTENCY_MISMATCH"
    DELETION_FORBIDDEN = "DELETION_FORBIDDEN"
    LIMIT_EXCEEDED = "LIMIT_EXCEEDED"
    UNAVAILABLE = "UNAVAILABLE"


__all__ = [
    "Curve",
    "DeletionPolicy",
    "Engine",
    "ErrorCode",
    "MemoryType",
    "PlanLinkKind",
    "RecordState",
    "Sensitivity",
    "SourceKind",
]
