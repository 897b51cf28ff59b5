"""The memory as an agent's program uses it: remember, recall, threads, and the whole API beneath as `operations`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self
from uuid import uuid4

import httpx
from pydantic import JsonValue

from stratagraph_client._sync.operations import Operations
from stratagraph_client.memories import Lessons, Recalled, RecalledMemory, Remembered
from stratagraph_client.operations.enums import (
    ChangeEffect,
    CitationStyle,
    MemoryType,
    Outcome,
    Sensitivity,
)
from stratagraph_client.operations.fragments import CapturedFields
from stratagraph_client.operations.input_types import (
    AgentTurnInput,
    ContextInput,
    FactInput,
    MemoryInput,
    MentionInput,
    OutcomeInput,
    RememberInput,
    ReportOutcomeInput,
    RetractInput,
    RetrieveGraphInput,
    ToolOutputInput,
)

URL = "http://127.0.0.1:8000"


class Memory:
    """A client of one Stratagraph service.

        async with AsyncMemory() as memory:
            await memory.remember("Alice moved to Berlin in May")
            print((await memory.recall("Where does Alice live?")).text)

    `url` and `api_key` are by default those of the environment, STRATAGRAPH_URL and STRATAGRAPH_API_KEY; a service on
    this machine that is for a single user needs no key. `source` says who reports what is remembered. `timeout_s`
    bounds each call with its retries. `transport` takes the place of the network, as in tests or within one process.
    Every method raises StratagraphError.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        source: str = "python",
        timeout_s: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        key = api_key or os.environ.get("STRATAGRAPH_API_KEY")
        http = httpx.Client(
            base_url=url or os.environ.get("STRATAGRAPH_URL") or URL,
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeout=timeout_s,
            transport=transport,
        )
        self.source = source
        self.operations = Operations(http, timeout_s=timeout_s)

    def __enter__(self) -> Self:
        self.operations.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.operations.__exit__(kind, error, trace)

    def remember(
        self,
        text: str,
        *,
        about: str | None = None,
        mentions: Sequence[str] = (),
        tags: Sequence[str] = (),
        scope: str | None = None,
        sensitivity: Sensitivity | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Remember a text that is to last, such as "Alice moved to Berlin". The same text again strengthens it.

        `about` names whom or what it concerns, `mentions` what else it names.
        """
        note = MemoryInput(fact=FactInput(subject=about or "notes", predicate="memory", object_=text))
        return self._remember(note, text[:10_000], mentions, tags, scope, sensitivity, idempotency_key)

    def remember_fact(
        self,
        subject: str,
        predicate: str,
        value: JsonValue,
        *,
        mentions: Sequence[str] = (),
        tags: Sequence[str] = (),
        scope: str | None = None,
        sensitivity: Sensitivity | None = None,
        idempotency_key: str | None = None,
    ) -> Remembered:
        """Remember a fact, which takes the place of what it contradicts."""
        fact = MemoryInput(fact=FactInput(subject=subject, predicate=predicate, object_=value))
        return self._remember(fact, None, mentions, tags, scope, sensitivity, idempotency_key)

    def _remember(
        self,
        memory: MemoryInput,
        summary: str | None,
        mentions: Sequence[str],
        tags: Sequence[str],
        scope: str | None,
        sensitivity: Sensitivity | None,
        idempotency_key: str | None,
    ) -> Remembered:
        captured = self.operations.remember(
            RememberInput(
                source=self.source,
                memory=memory,
                summary=summary,
                context=ContextInput(mentions=[MentionInput(name=name) for name in mentions]) if mentions else None,
                tags=list(tags) or None,
                scope=scope,
                sensitivity=sensitivity,
                idempotencyKey=idempotency_key or str(uuid4()),
            )
        )
        return _remembered(captured)

    def recall(
        self,
        query: str,
        *,
        limit: int = 10,
        types: Sequence[MemoryType] = (),
        scopes: Sequence[str] | None = None,
        min_strength: float | None = None,
        token_budget: int = 1_000,
    ) -> Recalled:
        """Return the memories that fit a question or a task best, at most `limit`, and their text for a prompt."""
        found = self.operations.retrieve_graph(
            RetrieveGraphInput(
                taskDescriptor=query,
                rootLimit=limit,
                memoryTypes=list(types) or None,
                scopes=list(scopes) if scopes is not None else None,
                minStrength=min_strength,
                tokenBudget=token_budget,
                citationStyle=CitationStyle.NUMBER,
            )
        )
        return Recalled(
            text=found.rendering or "",
            memories=tuple(
                RecalledMemory(
                    id=node.record.id,
                    type=node.record.type_.value,
                    text=node.record.text or node.record.name or "",
                    state=node.record.state.value if node.record.state is not None else "",
                    strength=node.strength,
                    scope=node.record.scope or "",
                    occurred_at=node.record.occurredAt,
                )
                for node in found.nodes
                if node.root
            ),
            retrieval_id=found.retrievalId,
            nothing_known=found.nothingKnown,
        )

    def report_outcome(self, recalled: Recalled | str, outcome: Outcome, *, used_ids: Sequence[str] = ()) -> None:
        """Say how a task ended for which memories were recalled; those that were used are strengthened or weakened."""
        retrieval_id = recalled if isinstance(recalled, str) else recalled.retrieval_id
        self.operations.report_outcome(
            ReportOutcomeInput(retrievalId=retrieval_id, outcome=outcome, usedRecordIds=list(used_ids))
        )

    def forget(self, record_id: str, reason: str) -> None:
        """Retract a memory: it is no longer recalled, and stays in the history. `operations.erase` erases."""
        self.operations.retract(RetractInput(recordId=record_id, rationale=reason, idempotencyKey=str(uuid4())))

    def lessons(self, task: str | None = None, *, limit: int = 10) -> Lessons:
        """Return lessons from earlier mistakes for a task."""
        playbook = self.operations.playbook(query=task, limit=limit)
        return Lessons(text=playbook.text, lesson_ids=tuple(playbook.lessonIds), playbook_id=playbook.playbookId)

    @contextmanager
    def thread(self, thread_id: str | None = None) -> Iterator[Thread]:
        """Capture a conversation. At the end it is closed with its outcome, so that something can be learned from it.

        An exception that leaves the block is the outcome FAILURE, unless one was given.
        """
        thread = Thread(self, thread_id or str(uuid4()))
        try:
            yield thread
        except BaseException as error:
            if thread.outcome is None:
                thread.close(Outcome.FAILURE, type(error).__name__)
            raise
        if thread.outcome is None:
            thread.close(Outcome.SUCCESS)


class Thread:
    """A conversation that is captured as it goes on; each turn and each call of a tool is one event of its episode."""

    def __init__(self, memory: Memory, thread_id: str) -> None:
        self.id = thread_id
        self.outcome: Outcome | None = None
        self._memory = memory

    def say(self, role: str, text: str, *, speaker: str | None = None) -> Remembered:
        """Capture a message."""
        turn = AgentTurnInput(role=role, text=text, threadId=self.id)
        if speaker is not None:
            turn.speaker = speaker
        return self._capture(MemoryInput(agentTurn=turn))

    def tool(
        self,
        name: str,
        args: JsonValue = None,
        result: JsonValue = None,
        *,
        error: JsonValue = None,
        call_id: str | None = None,
    ) -> Remembered:
        """Capture a call of a tool and what it returned, or how it failed."""
        call = ToolOutputInput(
            toolName=name, args=args, result=result, threadId=self.id, callId=call_id or str(uuid4())
        )
        if error is not None:
            call.error = error
        return self._capture(MemoryInput(toolOutput=call))

    def close(self, outcome: Outcome, reason: str | None = None) -> None:
        """Say how the conversation ended."""
        self.outcome = outcome
        ended = OutcomeInput(outcomeStatus=outcome, threadId=self.id)
        if reason is not None:
            ended.reason = reason
        self._capture(MemoryInput(outcome=ended))

    def _capture(self, memory: MemoryInput) -> Remembered:
        captured = self._memory.operations.remember(
            RememberInput(source=self._memory.source, memory=memory, idempotencyKey=str(uuid4()))
        )
        return _remembered(captured)


def _remembered(captured: CapturedFields) -> Remembered:
    record, receipt = captured.primaryRecord, captured.receipt

    def changed(effect: ChangeEffect) -> tuple[str, ...]:
        return tuple(one.record.id for one in receipt.changes if one.effect is effect)

    return Remembered(
        id=record.id,
        text=record.name or record.text or "",
        is_new=any(one.id == record.id for one in captured.createdRecords),
        sequence=receipt.sequence,
        replaced=changed(ChangeEffect.SUPERSEDED),
        in_doubt=changed(ChangeEffect.CONTESTED),
        warnings=tuple(one.message for one in receipt.warnings),
    )
