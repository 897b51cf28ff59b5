"""One change as a caller sees it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from uuid import UUID

from stratagraph.store.audit.events import Cause
from stratagraph.store.feed.change_log import Place
from stratagraph.store.model.records import MemoryRecord, Relation


class ChangeKind(Enum):
    """What happened to a record, a relation or a run of learning."""

    CREATED = "created"
    UPDATED = "updated"
    STATE = "state"
    GONE = "gone"
    RELATED = "related"
    UNRELATED = "unrelated"
    RUN = "run"


class RunStep(Enum):
    """How far a run of learning has come in one group; the value is the version under which the log has it."""

    BEGUN = 1
    FINISHED = 2
    UNDONE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRun:
    """A step of a run of learning in one group, which is named by its scope and sensitivity."""

    id: UUID
    step: RunStep
    scope: str
    sensitivity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change, as its reader may see it now.

    `place` is the place after it. `subject` is the record, the source of the relation, or the run. `record` is the
    record as it is now, or the source of the relation; None where it is gone. `relation` is None for a relation that
    was pruned, of which only `relation_id` is left. `cause` is None where the reader may not read it, or there is none.
    """

    place: Place
    kind: ChangeKind
    subject: UUID
    at: datetime
    record: MemoryRecord | None = None
    relation_id: UUID | None = None
    target: UUID | None = None
    relation: Relation | None = None
    run: ChangedRun | None = None
    made_by_run: UUID | None = None
    cause: Cause | None = None
    scope: str | None = None  # of a record that is gone, as its reader last saw it
    threads: frozenset[bytes] = frozenset()  # keyed hashes of the threads that the record belongs to
