"""Runs a tool: its arguments as requests to the API, and the answer as small data for a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pydantic import JsonValue

from stratagraph.service.mcp.arguments import checked
from stratagraph.service.mcp.definitions import BY_NAME
from stratagraph.service.mcp.refusals import Refused, refused
from stratagraph.service.mcp.texts import Budget, cut, moment
from stratagraph.store.model.payloads.semantic import NOTE
from stratagraph_client import AsyncMemory, Outcome, StratagraphError
from stratagraph_client.errors import NotFound, VersionConflict
from stratagraph_client.operations.enums import MemoryType, RecordState
from stratagraph_client.operations.input_types import (
    AgentTurnInput,
    AmendInput,
    CreditLessonsInput,
    EraseInput,
    MemoryInput,
    OutcomeInput,
    RememberInput,
    ReportOutcomeInput,
    RetractInput,
    RetrieveGraphInput,
    ToolOutputInput,
)

SOURCE = "mcp"  # who reports what is remembered
LIMIT, TOKEN_BUDGET, LESSON_TOKENS = 8, 1_000, 2_000  # unless a call says otherwise
MOST_SHOWN = 20  # sources, changes and related memories of an explanation
SHOWN_TEXT = 4_000  # characters of a memory that an explanation shows
CORRECTED = "corrected through MCP"
FORGOTTEN = "forgotten through MCP"
_OWNED = frozenset({"item", "memory_path"})  # keys of a LangGraph item and of a file of Anthropic's memory tool


@dataclass(slots=True)
class Session:
    """What one client has begun: its thread of steps, and whether it has one that has no outcome yet.

    `scope` is that of all that is stored. Over HTTP a session is one request, so a thread is a handle that the caller
    passes on.
    """

    thread: str = field(default_factory=lambda: str(uuid4()))
    has_steps: bool = False
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls a tool: the API as they may use it, and their session."""

    memory: AsyncMemory
    session: Session


async def run(caller: Caller, name: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the answer of a tool, which must be one of BY_NAME. Raises Refused."""
    arguments = checked(BY_NAME[name], given)
    try:
        return await _TOOLS[name](caller.memory, caller.session, arguments)
    except StratagraphError as error:
        raise refused(error) from None


async def _remember(memory: AsyncMemory, session: Session, given: Mapping[str, Any]) -> dict[str, Any]:
    stored = await memory.remember(
        given["text"], about=given.get("about"), tags=given.get("tags", ()), scope=session.scope
    )
    return {
        "id": stored.id,
        "is_new": stored.is_new,
        "replaced": list(stored.replaced),
        "in_doubt": list(stored.in_doubt),
        **({"warnings": list(stored.warnings)} if stored.warnings else {}),
    }


async def _log_step(memory: AsyncMemory, session: Session, given: Mapping[str, Any]) -> dict[str, Any]:
    thread = given.get("thread", session.thread)
    if "tool" in given:
        if "text" in given or "role" in given:
            raise Refused("text and role are of a message, tool is of a call; log the two as two steps.")
        call = ToolOutputInput(
            toolName=given["tool"],
            args=given.get("args", {}),
            result=given.get("result"),
            threadId=thread,
            callId=str(uuid4()),
        )
        if given.get("failed"):
            call.error = True
        step = MemoryInput(toolOutput=call)
    else:
        if "text" not in given:
            raise Refused("Give text for a message, or tool for a call of a tool.", argument="text")
        for name in ("args", "result", "failed"):
            if name in given:
                raise Refused(f"{name} is of a call of a tool; give its name as tool too.", argument="tool")
        step = MemoryInput(
            agentTurn=AgentTurnInput(role=given.get("role", "assistant"), text=given["text"], threadId=thread)
        )
    captured = await memory.operations.remember(
        RememberInput(source=SOURCE, memory=step, scope=session.scope, idempotencyKey=str(uuid4()))
    )
    session.has_steps = session.has_steps or thread == session.thread
    return {"id": captured.primaryRecord.id, "thread": thread}


async def _recall(memory: AsyncMemory, _: Session, given: Mapping[str, Any]) -> dict[str, Any]:
    budget = Budget(given.get("token_budget", TOKEN_BUDGET))
    found = await memory.recall(given["query"], limit=given.get("limit", LIMIT), token_budget=budget.tokens)
    memories: list[dict[str, Any]] = []
    for one in found.memories:
        text = budget.take(one.text, is_first=not memories)
        if text is None:
            break
        shown: dict[str, Any] = {"id": one.id, "text": text, "type": one.type.lower()}
        if one.state not in ("", RecordState.ACTIVE.value):
            shown["state"] = one.state.lower()
        if one.occurred_at is not None:
            shown["at"] = moment(one.occurred_at)
        memories.append(shown)
    left_out = len(found.memories) - len(memories)
    return {
        "retrieval_id": found.retrieval_id,
        "memories": memories,
        **({"left_out": left_out} if left_out else {}),
        **({"hint": "Nothing is known of this."} if not found.memories else {}),
    }


async def _explain(memory: AsyncMemory, _: Session, given: Mapping[str, Any]) -> dict[str, Any]:
    id_ = given["id"]
    known = await memory.operations.explain(id_)
    record = known.record
    if record is None:
        raise _unknown(id_)
    related = []
    for one in (record.relations or [])[:MOST_SHOWN]:
        is_outgoing = one.sourceId == record.id
        other = one.target if is_outgoing else one.source
        if other is not None:
            relation = one.predicate if is_outgoing else one.inverse
            related.append({"relation": relation, "id": other.id, "text": cut(other.name or "", 200)})
    sources = record.provenance.sources if record.provenance is not None else []
    answer: dict[str, Any] = {
        "id": record.id,
        "type": record.type_.value.lower(),
        "state": record.state.value.lower(),
        "text": cut(record.text or record.name or "", SHOWN_TEXT),
        "confidence": round(record.confidence, 3),
        "stored_at": moment(record.createdAt),
        "sources": [
            {"kind": one.kind.lower(), "ref": cut(one.ref, 200)}
            | ({"at": moment(one.timestamp)} if one.timestamp is not None else {})
            for one in sources[:MOST_SHOWN]
        ],
        "history": [
            {"action": one.action.lower(), "by": one.actor, "at": moment(one.timestamp)}
            | ({"reason": cut(one.rationale, 200)} if one.rationale else {})
            for one in known.auditLog.nodes[:MOST_SHOWN]
        ],
        "related": related,
    }
    if "query" in given:
        asked = RetrieveGraphInput(taskDescriptor=given["query"], rootLimit=LIMIT)
        why = await memory.operations.why_not(id=id_, input=asked)
        answer["ranking"] = {
            "found": why.returned,
            "rank": why.rank,
            "candidates": why.candidates,
            "words": list(why.matchedWords)[:MOST_SHOWN],
            "reasons": [cut(one.message, 400) for one in why.reasons],
        }
    return answer


async def _correct(memory: AsyncMemory, _: Session, given: Mapping[str, Any]) -> dict[str, Any]:
    record = (await memory.operations.explain(given["id"])).record
    if record is None:
        raise _unknown(given["id"])
    payload = record.payload
    if record.type_ is not MemoryType.SEMANTIC or not isinstance(payload, dict):
        raise Refused(
            f"This memory is of the type {record.type_.value.lower()}, of which no text can be corrected; remember what"
            " is right, or forget this one.",
            argument="id",
        )
    changes = _corrected(payload, given["text"])
    revised = await memory.operations.amend(
        AmendInput(
            recordId=record.id,
            changes=changes,
            evidence=[{"kind": "observation", "ref": SOURCE}],
            rationale=given.get("reason", CORRECTED),
            idempotencyKey=str(uuid4()),
        )
    )
    new = revised.record
    return {"id": new.id, "text": cut(new.text or new.name or "", SHOWN_TEXT), "replaced": [record.id]}


def _corrected(payload: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return what changes in the payload of a fact for it to say `text`.

    Where the text has the subject and the predicate of the fact, only its object changes. Of what a program finds again
    by its predicate, only the text does. Any other text becomes a note about the subject. Raises Refused for an object
    of a program without a text.
    """
    if not _OWNED.isdisjoint(payload):
        return {"object": _with_text(payload.get("object"), text)}
    subject, predicate = str(payload.get("subject", "")), str(payload.get("predicate", ""))
    if predicate == NOTE:
        beginning = f"{subject}: "
        return {"object": text.removeprefix(beginning) or text}
    beginning = f"{subject} {predicate.replace('_', ' ')} ".lower()
    if text.lower().startswith(beginning) and text[len(beginning) :].strip():
        return {"object": text[len(beginning) :].strip().removesuffix(".")}
    return {"predicate": NOTE, "object": text}


def _with_text(held: Any, text: str) -> JsonValue:
    """Return the change of an object by which `text` takes the place of its text."""
    if not isinstance(held, Mapping):
        return text
    said = held.get("text")
    if isinstance(said, list) and len(said) == 1:
        return {"text": [text]}
    if not isinstance(said, str):
        raise Refused(
            "This memory is an object of another program, without a text that a sentence could take the place of; have"
            " that program change it, or forget it and remember what is right.",
            argument="id",
        )
    return {"text": text}


async def _forget(memory: AsyncMemory, _: Session, given: Mapping[str, Any]) -> dict[str, Any]:
    id_, reason = given["id"], given.get("reason", FORGOTTEN)
    if given.get("erase"):
        await memory.operations.erase(EraseInput(recordId=id_, rationale=reason, idempotencyKey=str(uuid4())))
        return {"id": id_, "state": "erased"}
    try:
        await memory.operations.retract(RetractInput(recordId=id_, rationale=reason, idempotencyKey=str(uuid4())))
    except VersionConflict:
        record = (await memory.operations.explain(id_)).record
        if record is None or record.state is not RecordState.RETRACTED:
            raise
    return {"id": id_, "state": RecordState.RETRACTED.value.lower()}


async def _report_outcome(memory: AsyncMemory, session: Session, given: Mapping[str, Any]) -> dict[str, Any]:
    outcome = Outcome(given["outcome"].upper())
    thread = given.get("thread") or (session.thread if session.has_steps else None)
    parts: list[tuple[str, Callable[[], Awaitable[str]]]] = []
    if "retrieval_id" in given:
        used = given.get("used_ids", [])
        parts.append(("memories", lambda: _credit_memories(memory, given["retrieval_id"], outcome, used)))
    elif "used_ids" in given:
        raise Refused("used_ids needs the retrieval_id of the recall that returned them.", argument="retrieval_id")
    if thread is not None:
        parts.append(("thread", lambda: _close_thread(memory, session.scope, thread, outcome, given.get("reason"))))
    if "playbook_id" in given:
        parts.append(("lessons", lambda: _credit_lessons(memory, given["playbook_id"], outcome)))
    if not parts:
        raise Refused(
            "Say what the outcome is of: the retrieval_id of recall, the thread of log_step, or the playbook_id of"
            " lessons.",
            argument="retrieval_id",
        )
    done: list[str] = []
    not_done: list[str] = []
    for what, part in parts:
        try:
            done.append(f"{what}: {await part()}")
        except StratagraphError as error:
            if not done and what == parts[0][0]:
                raise  # nothing has been stored
            not_done.append(f"{what}: {refused(error).message}")
        else:
            if what == "thread" and thread == session.thread:
                session.has_steps = False
    return {"done": done, **({"not_done": not_done} if not_done else {})}


async def _credit_memories(memory: AsyncMemory, id_: str, outcome: Outcome, used: list[str]) -> str:
    told = await memory.operations.report_outcome(
        ReportOutcomeInput(retrievalId=id_, outcome=outcome, usedRecordIds=used)
    )
    if told.replayed:
        return "reported before, nothing changed"
    return f"{len(told.reinforcedIds)} strengthened, {len(told.penalizedIds)} weakened"


async def _close_thread(
    memory: AsyncMemory, scope: str | None, thread: str, outcome: Outcome, reason: str | None
) -> str:
    ended = OutcomeInput(outcomeStatus=outcome, threadId=thread)
    if reason is not None:
        ended.reason = reason
    await memory.operations.remember(
        RememberInput(source=SOURCE, memory=MemoryInput(outcome=ended), scope=scope, idempotencyKey=str(uuid4()))
    )
    return f"closed {thread}"


async def _credit_lessons(memory: AsyncMemory, id_: str, outcome: Outcome) -> str:
    if outcome is not Outcome.SUCCESS:
        return "not credited, since the task did not succeed"
    credited = await memory.operations.credit_lessons(CreditLessonsInput(playbookId=id_))
    return f"{len(credited.lessonIds)} credited"


async def _lessons(memory: AsyncMemory, _: Session, given: Mapping[str, Any]) -> dict[str, Any]:
    playbook = await memory.operations.playbook(
        query=given.get("task"), limit=given.get("limit", LIMIT), tokenBudget=LESSON_TOKENS
    )
    return {"lessons": playbook.text, "playbook_id": playbook.playbookId}


def _unknown(id_: str) -> Refused:
    return refused(NotFound(f"There is no memory {id_} that this credential may see.", path=["id"]))


_TOOLS: Mapping[str, Callable[[AsyncMemory, Session, Mapping[str, Any]], Awaitable[dict[str, Any]]]] = {
    "remember": _remember,
    "log_step": _log_step,
    "recall": _recall,
    "explain": _explain,
    "correct": _correct,
    "forget": _forget,
    "report_outcome": _report_outcome,
    "lessons": _lessons,
}
