"""The draft of a capture: what will be written, filled in step by step before the transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.requests.warnings import RequestWarning
from stratagraph.store.model.enums import DeletionPolicy, MemoryType, Outcome, Sensitivity, SourceKind
from stratagraph.store.model.ids import new_id
from stratagraph.store.model.salience import Decay
from stratagraph.store.model.visible_text import is_blank
from stratagraph.store.model.words import Terms
from stratagraph.store.records.entities import Mention
from stratagraph.store.records.fact_keys import FactEntities, FactKeys
from stratagraph.store.records.name_index import MentionOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """An entity that the capture names, and the predicate and weight of the relation that links the record to it.

    An identifier is a pair of namespace and value. With `known_only` the entity is linked if it exists, but never
    created. `is_declared` is whether the caller says that the name is one of an entity, `is_pattern` whether the text
    was recognised by its form, as a URL, an e-mail address or a path.
    """

    name: str
    predicate: str
    weight: float
    type: str | None = None
    identifiers: tuple[tuple[str, str], ...] = ()
    aliases: tuple[str, ...] = ()
    known_only: bool = False
    is_declared: bool = False
    is_pattern: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Another record that the capture refers to, and the predicate and weight of the relation to it.

    `target` is the record's id, or the ref it was captured with. `path` is where the request says that it is one; empty
    where it may as well be something else, such as a source outside the store.
    """

    target: UUID | str
    predicate: str = "references_record"
    weight: float = 0.8
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedArtifact:
    """An artifact that the capture names, and the path in the request at which it does."""

    sha256: bytes
    path: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Draft:
    """A capture before it is written. An outcome has an empty payload: it is added to the episode of its thread.

    `position` is its index in the request. `handle` is the ref, thread, `skill_name` or `plan_id` by which the record
    can be found. `call` is the id of a tool call, and `depends_on` has the ids of the calls that it depends on.
    `outcome_of` is the episode that an outcome names by its record id, and `outcome_reason` why it ended so. `cleared`
    are the fields of a working payload that the capture removes.
    """

    request: CaptureRequest
    position: int
    type: MemoryType
    payload: dict[str, Any]
    occurred_at: datetime
    thread: str | None = None
    call: str | None = None
    depends_on: tuple[str, ...] = ()
    outcome: Outcome | None = None
    outcome_of: UUID | None = None
    outcome_reason: str | None = None
    is_whole_episode: bool = False
    is_retried: bool = False  # so its time, that of its first attempt, may lie behind
    id: UUID = field(default_factory=new_id)
    candidate: UUID = field(default_factory=new_id)
    name: str = ""
    text: str = ""
    terms: Terms | None = None  # of a long text, so that they need not be computed while records are locked
    handle: str | None = None
    cleared: tuple[str, ...] = ()
    scope: str = ""
    sensitivity: Sensitivity = Sensitivity.LOW
    confidence: float = 1.0
    decay: Decay = field(default_factory=Decay)
    deletion_policy: DeletionPolicy = DeletionPolicy.AUTO_PRUNE
    named: list[Named] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    artifacts: list[NamedArtifact] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    entities: FactEntities = field(default_factory=FactEntities)  # of a fact, once its names are resolved
    fact: FactKeys | None = None
    lifted_from: Sensitivity | None = None  # the sensitivity before a secret in the content raised it
    secrets: dict[str, Any] | None = None  # how many secrets were masked, and whether the record was lifted
    evidence: tuple[dict[str, Any], ...] = ()  # given for a revision, beside the payload
    inherited_sources: tuple[dict[str, Any], ...] = ()  # of the records that this draft replaces
    learned_state: dict[str, Any] | None = None  # what was observed of a skill or plan that learning stores
    warnings: list[RequestWarning] = field(default_factory=list)  # that the request alone gives rise to
    lesson_authors: tuple[str, ...] = ()  # of a lesson that a revision writes; empty for the caller alone

    @property
    def called_tools(self) -> list[str]:
        """The tools that an episode called. In other payloads, `tool_graph` is a key of the caller's own."""
        if self.type is not MemoryType.EPISODIC:
            return []
        return [node["tool"] for node in self.payload.get("tool_graph") or ()]

    @property
    def names_sensitivity(self) -> Sensitivity:
        """The sensitivity of the entities that the draft names, which hold none of its secrets."""
        return self.sensitivity if self.lifted_from is None else self.lifted_from

    @property
    def has_own_time(self) -> bool:
        """Whether `occurred_at` is not just the time of the draft's arrival."""
        return self.request.timestamp is not None or self.is_retried

    @property
    def is_told(self) -> bool:
        """Whether the draft has text captured as it was said, such as a turn: no data, and nothing imported."""
        if self.request.imported is not None:
            return False
        is_said = self.request.source_kind in (SourceKind.AGENT_TURN, SourceKind.EVENT, SourceKind.EPISODE)
        return is_said and self.type is MemoryType.EPISODIC and not is_blank(self.text)

    @property
    def joins_thread(self) -> bool:
        """Whether the draft becomes an event of its thread's open episode."""
        return (
            self.thread is not None
            and self.type is MemoryType.EPISODIC
            and not self.is_whole_episode
            and (self.outcome is None)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Teaching:
    """What a draft says of an entity that existed before: a mention, or a whole payload of an entity."""

    draft: Draft
    entity: UUID
    mention: Mention
    payload: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionResult:
    """What became of a name in a capture. `entity` is the one that it means, None for none.

    `candidates` are the entities that it may mean where it is ambiguous.
    """

    name: str
    outcome: MentionOutcome
    entity: UUID | None
    candidates: tuple[UUID, ...] = ()
