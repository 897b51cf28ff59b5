"""The lines of an export, in their order: header, predicates, artifacts, records, relations, tombstones, end.

Fields have the names and defaults of the JSON; what has its default is left out of a line. See docs/export-format.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from stratagraph.store.model.enums import (
    AuditAction,
    Curve,
    DeletionPolicy,
    MemoryType,
    Outcome,
    RecordState,
    Sensitivity,
)
from stratagraph.store.model.rfc.values import Gain, Id, Seconds, Share, Text, Time, word_of

FORMAT = "stratagraph"
VERSION = 1
PART_BYTES = 2**20  # of an artifact, in one line
LINE_VERSIONS = 50  # earlier versions of a record in one line
LINE_ENTRIES = 1_000  # entries of its audit log in one line
_LARGEST = 2**31 - 1  # PostgreSQL's integer

Type = Annotated[MemoryType, BeforeValidator(word_of(MemoryType))]
Level = Annotated[Sensitivity, BeforeValidator(word_of(Sensitivity))]
State = Annotated[RecordState, BeforeValidator(word_of(RecordState))]
Flag = Annotated[bool, Field(strict=True)]
Whole = Annotated[int, Field(strict=True, ge=0)]
VersionNumber = Annotated[int, Field(strict=True, ge=1, le=_LARGEST)]
Sha256 = Annotated[str, Field(strict=True, pattern=r"^[0-9a-f]{64}$")]
Bound = Time | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A JSON object of a line. Keys that it does not know are refused, because a version may not drop any."""

    __pydantic_config__ = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderLine(Form):
    """The first line. `scopes` and `types` are what the export was narrowed to; None: all that the caller may read."""

    kind: Literal["header"] = "header"
    format: Literal["stratagraph"] = "stratagraph"
    version: Annotated[int, Field(strict=True)] = VERSION
    artifacts: Flag = False  # whether the contents of artifacts are in the file
    scopes: tuple[Text, ...] | None = None
    types: tuple[Type, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PredicateLine(Form):
    """A predicate of facts that the tenant has registered. `object_kind` is `entity`, `literal`, or None."""

    kind: Literal["predicate"] = "predicate"
    predicate: Text
    single_valued: Flag = False
    object_kind: Literal["entity", "literal"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactLine(Form):
    """An artifact to which an exported record refers; its content follows in `parts` lines of kind artifact_part."""

    kind: Literal["artifact"] = "artifact"
    sha256: Sha256
    size_bytes: Whole
    parts: Whole = 0  # 0 for an empty artifact, for one whose bytes are damaged, and in an export without contents


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactPartLine(Form):
    """The next bytes of the artifact above, PART_BYTES in each part but the last, as base64 with padding."""

    kind: Literal["artifact_part"] = "artifact_part"
    data: Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Content(Form):
    """What a record says, at present or in an earlier version, as it is stored.

    The payload of a fact has no `revision.status`, which follows from the state. `learned_state` is what was observed
    of a learned skill or plan.
    """

    name: Text
    text: Text
    payload: dict[str, Any]
    provenance: dict[str, Any]
    interpretation: dict[str, Any] | None = None
    learned_state: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Period(Form):
    """The instants from `start` until before `end`; None is unbounded. An empty one has no instant, and no bounds."""

    start: Bound = None
    end: Bound = None
    empty: Flag = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimForm(Form):
    """Where another fact makes this one begin later (`side` is start) or end earlier (end)."""

    by: Id
    side: Literal["start", "end"]
    at: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class FactForm(Form):
    """What a fact has beside its payload. `validity` is the effective one, `stated` that which the fact states.

    `subject_entity` and `object_entity` are the entities to which it is linked; None: the text or value of the payload.
    """

    validity: Period
    stated: Period
    evidence_at: Time
    single_valued: Flag = False
    subject_entity: Id | None = None
    subject_is_ambiguous: Flag = False
    object_entity: Id | None = None
    trims: tuple[TrimForm, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeForm(Form):
    """What the episode of a thread has beside its record: when it is open, and its members in order of arrival.

    The thread is `thread_id` of the payload, and a member's call the id of its tool node, if that is not its own id.
    """

    opened_at: Time
    closes_at: Time  # when silence closes it
    closed_at: Bound = None
    outcome: Annotated[Outcome, BeforeValidator(word_of(Outcome))] | None = None
    members: tuple[Id, ...] = ()
    learned_at: Bound = None
    learned_stages: tuple[Text, ...] = ()  # stages of learning that have read it
    awaits_skill: Flag = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonForm(Form):
    """What a lesson has beside its payload: who wrote its advice, and uses that the payload does not count yet."""

    authors: tuple[Text, ...] = ()  # identities, in exports of callers with admin access
    retrievals: Whole = 0
    helpful: Whole = 0
    retrieved_at: Bound = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleForm(Form):
    """The salience `s` at `t0`, and how it changes from there. The value now is computed from it."""

    s: Share
    t0: Time
    curve: Annotated[Curve, BeforeValidator(word_of(Curve))]
    half_life_s: Seconds
    reinforcement_gain: Gain
    min_salience: Share = 0.0
    max_age_s: Seconds | None = None
    params: dict[str, Any] | None = None
    pinned: Flag = False
    deletion_policy: Annotated[DeletionPolicy, BeforeValidator(word_of(DeletionPolicy))] = DeletionPolicy.AUTO_PRUNE
    last_reinforced_at: Bound = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastLifecycle(Form):
    """How a record decayed until `to_at`."""

    to_at: Time
    curve: Annotated[Curve, BeforeValidator(word_of(Curve))]
    half_life_s: Seconds
    reinforcement_gain: Gain
    min_salience: Share = 0.0
    max_age_s: Seconds | None = None
    params: dict[str, Any] | None = None
    pinned: Flag = False
    deletion_policy: Annotated[DeletionPolicy, BeforeValidator(word_of(DeletionPolicy))] = DeletionPolicy.AUTO_PRUNE


@dataclass(frozen=True, slots=True, kw_only=True)
class PastVersion(Form):
    """A record as it was from `from_at` until before `to_at`; `validity` is None for what an early release wrote."""

    from_at: Time
    to_at: Time
    version: VersionNumber
    state: State
    sensitivity: Level
    confidence: Share
    occurred_at: Time
    content: Content
    tags: tuple[Text, ...] = ()
    validity: Period | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLine(Form):
    """An entry of the audit log. `sensitivity` is that of what the rationale is about; None: of its record."""

    action: Annotated[AuditAction, BeforeValidator(word_of(AuditAction))]
    actor: Text
    at: Time
    salience: Share | None = None
    rationale: Text | None = None
    sensitivity: Level | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactUse(Form):
    """A reference of a record to an artifact."""

    sha256: Sha256
    media_type: Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLine(Form):
    """A record with its history and audit log, both oldest first; RecordPartLines continue long ones.

    `fact` is given for a fact, `episode` for the episode of a thread, `lesson` for a lesson. `named_times` are the
    times that the text of an event names.
    """

    kind: Literal["record"] = "record"
    id: Id
    type: Type
    sensitivity: Level
    state: State
    version: VersionNumber
    confidence: Share
    created_at: Time
    occurred_at: Time
    updated_at: Time
    content: Content
    lifecycle: LifecycleForm
    scope: Text = ""
    tags: tuple[Text, ...] = ()
    named_times: tuple[Period, ...] = ()
    fact: FactForm | None = None
    episode: EpisodeForm | None = None
    lesson: LessonForm | None = None
    artifacts: tuple[ArtifactUse, ...] = ()
    history: tuple[PastVersion, ...] = ()
    past_lifecycles: tuple[PastLifecycle, ...] = ()
    audit: tuple[AuditLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordPartLine(Form):
    """The next LINE_VERSIONS earlier versions and LINE_ENTRIES entries of the audit log of the record above."""

    kind: Literal["record_part"] = "record_part"
    id: Id
    history: tuple[PastVersion, ...] = ()
    audit: tuple[AuditLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationLine(Form):
    """A relation between two records of the file, in the direction in which it is stored."""

    kind: Literal["relation"] = "relation"
    id: Id
    source: Id
    target: Id
    predicate: Text
    weight: Share
    created_at: Time
    ended_at: Bound = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TombstoneLine(Form):
    """A record that was removed, with the last LINE_ENTRIES entries of its audit log.

    `entities` are those to which it was linked, `learned` its episodes and what was learned from it.
    """

    kind: Literal["tombstone"] = "tombstone"
    id: Id
    type: Type
    sensitivity: Level
    cause: Literal["pruned", "deleted", "erased"]
    at: Time
    scope: Text = ""
    entities: tuple[Id, ...] = ()
    learned: tuple[Id, ...] = ()
    audit: tuple[AuditLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EndLine(Form):
    """The last line. `sha256` is that of all bytes before it, `counts` the number of lines of each kind before it."""

    kind: Literal["end"] = "end"
    counts: dict[str, Whole]
    sha256: Sha256


Line = (
    HeaderLine
    | PredicateLine
    | ArtifactLine
    | ArtifactPartLine
    | RecordLine
    | RecordPartLine
    | RelationLine
    | TombstoneLine
    | EndLine
)
CAUSES = ("pruned", "deleted", "erased")  # by their number in the database, from 1
SIDES = ("start", "end")  # likewise
