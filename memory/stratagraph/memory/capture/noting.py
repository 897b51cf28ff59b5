"""The warnings of a capture: what its caller gave that is not read, or not used. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stratagraph.memory.capture.draft import Draft, MentionResult
from stratagraph.memory.capture.interpret import MAX_LABELS
from stratagraph.memory.capture.procedures import MAX_TOOLS
from stratagraph.memory.capture.request import CaptureRequest
from stratagraph.memory.lessons.merging import claims_of
from stratagraph.memory.requests.contents import CaptureContext, form_of
from stratagraph.memory.requests.keys import misspelt_keys, unread_keys
from stratagraph.memory.requests.warnings import RequestWarning, WarningCode, warning
from stratagraph.memory.secrets.masking import holds_mask
from stratagraph.store.artifacts.objects import hash_in
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.enums import Access, MemoryType, SourceKind
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.payloads.procedures import tools_used
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import Trust
from stratagraph.store.records.name_index import MentionOutcome

_RENDERED: tuple[object, ...] = (
    {},
    None,
    {"status": "active"},
)  # values of `revision` that say nothing else than the record's state


_THREAD = dict.fromkeys(("session_id", "sessionId", "conversation_id", "conversationId"), "thread_id")
_ARGS = dict.fromkeys(("arguments", "parameters", "input", "tool_input"), "args")
_RESULT = dict.fromkeys(("output", "response", "tool_output"), "result")
_ERROR = dict.fromkeys(("is_error", "isError", "error_message"), "error")
# Words of other systems for what a content has under another name, by source kind.
_MEANT: Mapping[SourceKind, Mapping[str, str]] = {
    SourceKind.TOOL_OUTPUT: {**_THREAD, **_ARGS, **_RESULT, **_ERROR},
    SourceKind.AGENT_TURN: _THREAD,
    SourceKind.EVENT: {**_THREAD, "description": "summary"},
    SourceKind.WORKING_STATE: {
        **dict.fromkeys(("next_step", "next_steps"), "next_actions"),
        "questions": "open_questions",
        "constraints": "active_constraints",
        "summary": "context_summary",
    },
    SourceKind.OBSERVATION: {**dict.fromkeys(("valid_from", "valid_to"), "validity"), "policy": "revision_policy"},
}
# Fields of a capture that a content does not have: what they would decide is decided without them.
_OF_CAPTURES = {"sensitivity": "sensitivity", "scope": "scope", "idempotency_key": "idempotencyKey"}
_OF_CAPTURES["idempotencyKey"] = "idempotencyKey"


def meant_keys(kind: SourceKind, content: object) -> list[RequestWarning]:
    """Return the warnings about keys that other systems use for what a content has under another name, or beside it."""
    if not isinstance(content, dict):
        return []
    found = []
    meant = _MEANT.get(kind, {})
    for key in content:
        known = meant.get(key)
        if known is not None and known not in content and not (known == "summary" and "text" in content):
            problem = f"is taken for a key of your own, and not read as {known}; write {known} if that is meant"
            found.append(warning(WarningCode.KEY_RESEMBLES_KNOWN, ("content", key), problem))
        elif key in _OF_CAPTURES:
            problem = f"is taken for a key of your own; give {_OF_CAPTURES[key]} beside the content if that is meant"
            found.append(warning(WarningCode.KEY_RESEMBLES_KNOWN, ("content", key), problem))
    return found


def key_warnings(request: CaptureRequest) -> list[RequestWarning]:
    """Return the warnings about unknown keys of a request. Raises InvalidInput for known ones in another spelling."""
    form = form_of(request.source_kind, request.proposed_type)
    found = misspelt_keys(form, request.content, path=("content",))
    misspelt_keys(CaptureContext, request.context, path=("context",))
    found += meant_keys(request.source_kind, request.content)
    return [*found, *unread_keys(CaptureContext, request.context, path=("context",))]


def unused_values(draft: Draft, request: CaptureRequest) -> list[RequestWarning]:
    """Return the warnings about values of a request that its draft, once it is interpreted, does not use."""
    context = request.context or {}
    found = []
    for index, value in enumerate(context.get("artifacts") or ()):
        if hash_in(value) is None:
            problem = "is not the sha256:… URI of an artifact, and links none; send its bytes with PUT /artifacts first"
            found.append(warning(WarningCode.VALUE_NOT_USED, ("context", "artifacts", str(index)), problem))
    labels = context.get("labels") or ()
    if len(labels) > MAX_LABELS:
        problem = f"{len(labels)} labels, of which the first {MAX_LABELS} are kept; give fewer"
        found.append(warning(WarningCode.VALUE_NOT_USED, ("context", "labels"), problem))
    if draft.type is MemoryType.SEMANTIC and request.content.get("revision") not in _RENDERED:
        problem = "is not stored, since it follows from the record's state; use supersede, contest or retract"
        found.append(warning(WarningCode.VALUE_NOT_USED, ("content", "revision"), problem))
    tools = len(tools_used(draft.payload, draft.type))
    if tools > MAX_TOOLS:
        problem = f"uses {tools} tools, of which the first {MAX_TOOLS} are related to it; split it"
        found.append(warning(WarningCode.VALUE_NOT_USED, ("content",), problem))
    if draft.depends_on and draft.thread is None:
        problem = "relates nothing without a thread_id, since calls are those of a thread; name the thread"
        found.append(warning(WarningCode.CALL_NOT_FOUND, ("content", "depends_on"), problem))
    return [*found, *masked_secrets(draft)]


def masked_secrets(draft: Draft) -> list[RequestWarning]:
    """Return the warnings about secrets in a draft, and about the names that hold one."""
    if draft.secrets is None:
        return []
    kept = (
        f"the payload keeps them, sealed, and the record's sensitivity is raised to {draft.sensitivity.label}"
        if draft.secrets["lifted"]
        else "where the record is not sealed, its payload has none of them"
    )
    problem = f"has {draft.secrets['masked']} secrets, such as a token or a password, which are masked; {kept}"
    found = [warning(WarningCode.SECRET_MASKED, ("content",), problem)]
    mentions = (draft.request.context or {}).get("mentions") or ()
    for index, mention in enumerate(mentions):
        if holds_mask(mention["name"] if isinstance(mention, dict) else mention):
            problem = "holds a secret, so that it is linked to no entity; give a name without it"
            found.append(warning(WarningCode.MENTION_NOT_LINKED, ("context", "mentions", str(index)), problem))
    return found


def unused_claims(draft: Draft, trust: Trust) -> list[RequestWarning]:
    """Return the warnings about what a captured lesson says of its use, which takes access admin to say."""
    if draft.type is not MemoryType.COMPETENCE or trust.access >= Access.ADMIN:
        return []
    problem = "is left out, since it takes access admin to state it; the service counts, and verifyLesson verifies"
    return [
        warning(WarningCode.VALUE_NOT_USED, ("content", "lesson", name), problem) for name in claims_of(draft.payload)
    ]


def unused_tags(draft: Draft, primary: MemoryRecord) -> list[RequestWarning]:
    """Return the warning about tags of a capture that was added to a record which existed before."""
    if set(draft.request.tags) <= set(primary.tags):
        return []
    problem = "are not stored, since the capture was added to a record that existed before and keeps its tags"
    return [warning(WarningCode.VALUE_NOT_USED, ("tags",), problem)]


def ambiguous_names(draft: Draft, results: Sequence[MentionResult]) -> list[RequestWarning]:
    """Return the warnings about names that are linked to no entity because they may mean several."""
    mentions = (draft.request.context or {}).get("mentions") or ()
    listed = [normalised_name(one["name"] if isinstance(one, dict) else one) for one in mentions]
    found = []
    for result in results:
        if result.outcome is MentionOutcome.AMBIGUOUS and draft.type is not MemoryType.ENTITY:
            name = normalised_name(result.name)
            path = ("context", "mentions", str(listed.index(name))) if name in listed else ("content",)
            problem = (
                f"the name {shown(result.name)} may mean several entities, and is linked to none; add an identifier"
            )
            found.append(warning(WarningCode.MENTION_NOT_LINKED, path, problem))
    return found
