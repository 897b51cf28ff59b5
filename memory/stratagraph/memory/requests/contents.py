"""The forms of what a caller gives: the content of each source kind, a record's payload, evidence and context.

Each form is declared once, here or in `stratagraph.store.model.payloads`. Validation, the search for misspelt keys, the
JSON Schemas (`schemas`) and the input types of GraphQL follow from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationError, field_validator

from stratagraph.memory.requests.evidence import KINDS, SOURCE_TYPES
from stratagraph.store.model.enums import MemoryType, SourceKind
from stratagraph.store.model.payloads import PAYLOADS, invalid
from stratagraph.store.model.payloads.base import Instant, Name, Part, not_blank, visible_text
from stratagraph.store.model.payloads.entity import Alias, Identifier
from stratagraph.store.model.payloads.episodic import EpisodicPayload, TimelineEvent
from stratagraph.store.model.payloads.semantic import NOTES, SemanticPayload, Validity
from stratagraph.store.model.payloads.working import WorkingUpdate
from stratagraph.store.model.visible_text import is_blank

MAX_REASON = 10_000  # characters of the reason of an outcome
MAX_THREAD = 512  # characters of a thread's name
MAX_LISTED = 256  # entries of `context.mentions`, and of `context.references`
MAX_TERMS = 64  # aliases, and identifiers, of one entry of `context.mentions`


def _blank_or_visible(value: str) -> str:
    if value and is_blank(value):
        raise ValueError("is blank; give a reference, or leave it out")
    return value


Text = Annotated[str, Field(min_length=1)]
Thread = Annotated[str, Field(min_length=1, max_length=MAX_THREAD), AfterValidator(not_blank), visible_text(MAX_THREAD)]
Ref = Annotated[str, AfterValidator(_blank_or_visible)]
_REF = "Reference by which later captures may name it; may be empty."
_THREAD = "Thread to whose open episode it belongs."


class Handles(Part):
    """What names a capture, and the thread that it belongs to."""

    ref: Ref | None = Field(default=None, description=_REF)
    thread_id: Thread | None = Field(default=None, description=_THREAD)


class EventContent(Handles):
    """Something that happened."""

    event_kind: Text = Field(default="event", description="Kind of the event, such as deployment.")
    summary: Any = Field(default=None, description="What happened, a text; its words find the record.")
    text: Any = Field(default=None, description="What was said or written, in place of a summary.")


class ToolOutputContent(Handles):
    """A call of a tool, and what it returned."""

    NULLABLE: ClassVar[tuple[str, ...]] = ("args", "result")

    tool_name: Text = Field(description="Name of the tool.")
    args: Any = Field(default=None, description="Arguments of the call; null differs from absent.")
    result: Any = Field(default=None, description="Result of the call; null differs from absent.")
    call_id: str | None = Field(default=None, description="Id of the call, which later calls may depend on.")
    depends_on: list[str] | None = Field(default=None, description="Ids of the calls whose results it used.")
    error: Any = Field(default=None, description="True, or the error, where the call failed.")


class AgentTurnContent(Handles):
    """A message of a conversation."""

    role: Text = Field(description="Who speaks, such as user, assistant or a name.")
    speaker: Name | None = Field(default=None, description="Name of who speaks, where the role is not a name.")
    text: Text = Field(description="What was said.")


class OutcomeContent(Part):
    """How an episode ended; it names the episode by either `thread_id` or `record_id`."""

    outcome_status: Literal["success", "failure", "partial"] = Field(description="How it ended.")
    thread_id: Thread | None = Field(default=None, description="Thread whose episode it closes.")
    record_id: str | None = Field(default=None, description="Id of the episode that it closes, a UUID.")
    reason: Annotated[str, Field(max_length=MAX_REASON)] | None = Field(default=None, description="Why it ended so.")

    @field_validator("outcome_status", mode="before")
    @classmethod
    def in_any_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value


class EvidenceEntry(Part):
    """A source: `{kind, ref}`, or `{source_type, source_id}`."""

    kind: Literal[KINDS] | None = Field(default=None, description="Kind of the source.")  # type: ignore[valid-type]
    ref: str | None = Field(default=None, description="Reference of the source: a record's id, or any other.")
    source_type: Literal[tuple(SOURCE_TYPES)] | None = Field(  # type: ignore[valid-type]
        default=None, description="Kind of the source, in the older form."
    )
    source_id: str | None = Field(default=None, description="Reference of the source, in the older form.")
    timestamp: Instant | None = Field(default=None, description="Instant at which the source arose.")
    hash: str | None = Field(default=None, description="Hash of the source's content, such as an artifact's.")


class ObservationContent(SemanticPayload):
    """A fact. It always holds unless `validity` or `conditions` say otherwise."""

    validity: Validity | None = Field(default=None, description="When it holds; by default always.")  # type: ignore[assignment]
    conditions: dict[str, Any] | None = Field(
        default=None, description="Conditions under which it holds, as {key: value or [values]}."
    )
    object_type: Name | None = Field(
        default=None, description="Type of the entity that the object names, such as Person."
    )


class NoteContent(Part):
    """A fact that is a text: what is to be remembered about somebody or something."""

    text: Text = Field(alias="object", description="What to remember, as a sentence that can be read alone.")
    about: Name = Field(
        default=NOTES, alias="subject", description=f"Name of whom or what it is about. Default: {NOTES}."
    )


class EpisodeContent(EpisodicPayload):
    """A whole, finished episode, with at least one event or call."""

    timeline: list[TimelineEvent] = Field(default_factory=list, description="The events, in any order.")
    ref: Ref | None = Field(default=None, description=_REF)
    thread_id: Thread | None = Field(default=None, description="Thread that it was.")


class Mention(Part):
    """A name in the content, and what the caller knows of it."""

    name: Name = Field(description="The name as the content gives it.")
    type: str | None = Field(default=None, description="Type of the entity, such as Person.")
    identifiers: list[Identifier] | None = Field(default=None, description="Identifiers of the entity.")
    aliases: list[Name | Alias] | None = Field(default=None, description="Other names of the entity.")


class Reference(Part):
    """Another record that the content refers to."""

    ref: Name = Field(description="Id of the record, or the ref that it was captured with.")
    predicate: str | None = Field(default=None, description="Name of the relation to it. Default: references_record.")


class CaptureContext(Part):
    """What a capture names and refers to. Other keys are neither read nor kept."""

    mentions: Annotated[list[Name | Mention], Field(max_length=MAX_LISTED)] | None = Field(
        default=None, description=f"Names in the content, at most {MAX_LISTED}."
    )
    references: Annotated[list[Name | Reference], Field(max_length=MAX_LISTED)] | None = Field(
        default=None, description=f"Records that the content refers to, at most {MAX_LISTED}."
    )
    artifacts: list[str] | None = Field(default=None, description="URIs of artifacts, each sha256:….")
    labels: list[str] | None = Field(default=None, description="Topics of the content.")


CONTENTS: Mapping[SourceKind, type[Part]] = {
    SourceKind.EVENT: EventContent,
    SourceKind.TOOL_OUTPUT: ToolOutputContent,
    SourceKind.OBSERVATION: ObservationContent,
    SourceKind.OUTCOME: OutcomeContent,
    SourceKind.WORKING_STATE: WorkingUpdate,
    SourceKind.AGENT_TURN: AgentTurnContent,
    SourceKind.EPISODE: EpisodeContent,
}
GIVEN_PAYLOADS = (MemoryType.ENTITY, MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH)  # as content of an observation


def form_of(source_kind: SourceKind, proposed: MemoryType | None) -> type[Part]:
    """Return the form of the content of a capture."""
    if source_kind is SourceKind.OBSERVATION and proposed in GIVEN_PAYLOADS:
        return PAYLOADS[proposed]
    return CONTENTS[source_kind]


def check_form(form: type[Part], value: object, *, path: list[str]) -> None:
    """Raise InvalidInput, naming up to 10 fields, for a value that does not have the form."""
    try:
        form.model_validate(value)
    except ValidationError as error:
        raise invalid(error, path) from error
