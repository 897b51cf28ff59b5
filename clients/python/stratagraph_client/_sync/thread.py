"""A conversation that is captured as it goes on, with the memories it was given and how it ended."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self, TypeVar
from uuid import uuid4

from stratagraph_client.errors import StratagraphError, Unavailable
from stratagraph_client.memories import Lessons, Recalled, Remembered, remembered
from stratagraph_client.operations.enums import MemoryType, Outcome
from stratagraph_client.operations.fragments import CapturedFields
from stratagraph_client.operations.input_types import (
    AgentTurnInput,
    CreditLessonsInput,
    MemoryInput,
    OutcomeInput,
    RememberAllInput,
    RememberInput,
    ReportOutcomeInput,
    ReportOutcomesInput,
)
from stratagraph_client.tool_calls import arguments_of, error_of_call, name_of, tool_capture

if TYPE_CHECKING:
    from stratagraph_client._sync.memory import Memory

P = ParamSpec("P")
T = TypeVar("T")
BATCH = 25  # calls of tools that wait to be sent with the next message, after which they are sent by themselves
BATCH_CHARACTERS = 1 << 20  # of JSON in them, after which they are sent, too
MOST_WAITING = 500  # calls of tools that are kept while the service is away; then the next one raises
MOST_CHARACTERS = 8 << 20  # of JSON in them
BETWEEN_S = 2.0  # seconds that a call of a tool waits at most for those before it to be sent
LAST_WORDS_S = 10.0  # seconds for capturing the end of a block that failed


class Thread:
    """A conversation that is captured as it goes on; each turn and each call of a tool is one event of its episode.

    Messages are written at once, calls of tools with the next message, or at the end. A capture of a call that the
    service refuses is raised at the end; one that cannot be sent is sent again, and raised at the end at the latest.
    """

    def __init__(self, memory: Memory, thread_id: str) -> None:
        self.id = thread_id
        self.outcome: Outcome | None = None
        self._memory = memory
        self._waiting: list[RememberInput] = []
        self._waiting_characters = 0
        self._refused: list[StratagraphError] = []
        self._recalled: dict[str, Recalled] = {}
        self._used: dict[str, list[str]] = {}
        self._playbooks: list[str] = []
        self._has_events = False
        self._timeout_s: float | None = None

    def say(self, role: str, text: str, *, speaker: str | None = None) -> Remembered:
        """Capture a message, and the calls of tools before it."""
        turn = AgentTurnInput(role=role, text=text, threadId=self.id)
        if speaker is not None:
            turn.speaker = speaker
        return remembered(self._capture(self._input(MemoryInput(agentTurn=turn))))

    def tool(self, name: str, args: object = None, *, call_id: str | None = None) -> ToolCall:
        """Capture a call of a tool around a block. An exception that leaves the block is the call's error.

        with thread.tool("search", {"query": "Berlin"}) as call:
            call.result = search("Berlin")
        """
        return ToolCall(self, name, args, call_id)

    def tool_called(
        self, name: str, args: object = None, result: object = None, *, error: object = None, call_id: str | None = None
    ) -> None:
        """Capture a call of a tool that has been made: what it returned, or how it failed.

        Values that JSON has no form for are captured as their text.
        """
        one = tool_capture(
            self._memory.source, self.id, name=name, args=args, result=result, error=error, call_id=call_id
        )
        characters = _characters(one)
        self._waiting.append(one)
        self._waiting_characters += characters
        self._has_events = True
        is_full = self._waiting_characters // BATCH_CHARACTERS > (
            (self._waiting_characters - characters) // BATCH_CHARACTERS
        )
        if is_full or len(self._waiting) % BATCH == 0:
            try:
                self._send(None, min(self._memory.operations.timeout_s, BETWEEN_S))
            except Unavailable:
                if len(self._waiting) >= MOST_WAITING or self._waiting_characters >= MOST_CHARACTERS:
                    raise

    def captured(self, function: Callable[P, T]) -> Callable[P, T]:
        """Return a tool function whose calls are captured, with their arguments by name. A decorator."""
        name = name_of(function)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            with self.tool(name, arguments_of(function, args, kwargs)) as made:
                made.result = result = function(*args, **kwargs)
            return result

        return call

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
        """Return the memories that fit best, without this thread's own; the end of the thread reports on them."""
        self.flush()
        found = self._memory.recall(
            query,
            limit=limit,
            types=types,
            scopes=scopes,
            min_strength=min_strength,
            token_budget=token_budget,
            exclude_threads=[self.id],
        )
        if found.memories:
            self._recalled[found.retrieval_id] = found
        return found

    def used(self, recalled: Recalled, *ids: str) -> None:
        """Say which memories of an answer were of use; without this, all of them count as used."""
        self._used.setdefault(recalled.retrieval_id, []).extend(ids)

    def lessons(self, task: str | None = None, *, limit: int = 10) -> Lessons:
        """Return lessons from earlier mistakes; they are credited if the thread ends with success."""
        found = self._memory.lessons(task, limit=limit)
        if found.lesson_ids:
            self._playbooks.append(found.playbook_id)
        return found

    def flush(self) -> None:
        """Send the calls of tools that wait. Raises StratagraphError where they cannot be sent; they wait on then."""
        if self._waiting:
            self._send(None)

    def close(self, outcome: Outcome, reason: str | None = None) -> None:
        """Say how the conversation ended; report on what was recalled, and credit lessons after a success.

        Raises StratagraphError also for what was captured before and refused.
        """
        if self.outcome is not None:
            raise ValueError("The thread has an outcome already; open another one.")
        self.outcome = outcome
        if self._has_events:
            ended = OutcomeInput(outcomeStatus=outcome, threadId=self.id)
            if reason is not None:
                ended.reason = reason
            self._capture(self._input(MemoryInput(outcome=ended)))
        self._report(outcome)
        self._raise_refused()

    def end(self, error: BaseException | None) -> None:
        """End the block of the thread: by the exception that leaves it, which stays what is raised, or by none."""
        if error is None:
            if self.outcome is None:
                self.close(Outcome.SUCCESS)
            self.flush()
            self._raise_refused()
            return
        self._timeout_s = min(self._memory.operations.timeout_s, LAST_WORDS_S)
        try:
            if self.outcome is None and isinstance(error, Exception):
                self.close(Outcome.FAILURE, type(error).__name__)
            else:  # it was interrupted, which is no outcome
                self.flush()
                self._raise_refused()
        except StratagraphError as failed:
            error.add_note(f"The end of the thread was not captured completely: {failed}")

    def _input(self, memory: MemoryInput) -> RememberInput:
        return RememberInput(source=self._memory.source, memory=memory, idempotencyKey=str(uuid4()))

    def _capture(self, item: RememberInput) -> CapturedFields:
        """Write an item after those that wait, and return what became of it."""
        self._has_events = True
        if not self._waiting:
            return self._memory.operations.remember(item, timeout_s=self._timeout_s)
        captured = self._send(item)
        assert captured is not None
        return captured

    def _send(self, last: RememberInput | None, timeout_s: float | None = None) -> CapturedFields | None:
        """Write what waits in one transaction, with `last` after it; one by one where one of them is refused.

        What waits is taken from the list first and put back if it was not stored, so that two calls do not send it
        twice; its idempotency keys make that harmless.
        """
        timeout_s = timeout_s or self._timeout_s
        items, self._waiting, self._waiting_characters = self._waiting, [], 0
        everything = items if last is None else [*items, last]
        done = 0
        try:
            try:
                stored = self._memory.operations.remember_all(RememberAllInput(items=everything), timeout_s=timeout_s)
            except StratagraphError as refused:
                if refused.retryable:
                    raise
            else:
                done = len(items)
                return stored.results[-1]
            for item in items:
                try:
                    self._memory.operations.remember(item, timeout_s=timeout_s)
                except StratagraphError as refused:
                    if refused.retryable:
                        raise
                    self._refused.append(refused)
                done += 1
            return self._memory.operations.remember(last, timeout_s=timeout_s) if last is not None else None
        finally:
            if done < len(items):
                self._waiting[:0] = items[done:]
                self._waiting_characters += sum(map(_characters, items[done:]))

    def _report(self, outcome: Outcome) -> None:
        reports = [
            ReportOutcomeInput(
                retrievalId=id_,
                outcome=outcome,
                usedRecordIds=self._used.get(id_, [one.id for one in found.memories]),
            )
            for id_, found in self._recalled.items()
        ]
        self._recalled.clear()
        for first in range(0, len(reports), 100):
            self._memory.operations.report_outcomes(
                ReportOutcomesInput(items=reports[first : first + 100]), timeout_s=self._timeout_s
            )
        playbooks, self._playbooks = self._playbooks, []
        if outcome is Outcome.SUCCESS:
            for playbook_id in playbooks:
                self._memory.operations.credit_lessons(
                    CreditLessonsInput(playbookId=playbook_id), timeout_s=self._timeout_s
                )

    def _raise_refused(self) -> None:
        """Raise the first of the captures that the service refused."""
        if self._refused:
            first, *others = self._refused
            self._refused = []
            for one in others:
                first.add_note(f"Another capture of the thread was refused, too: {one}")
            raise first


def _characters(item: RememberInput) -> int:
    """Return the length of an item as JSON."""
    return len(item.model_dump_json())


class ToolCall:
    """A call of a tool that is being made: set `result`, or `error`, before the end of its block."""

    def __init__(self, thread: Thread, name: str, args: object, call_id: str | None) -> None:
        self.name = name
        self.args = args
        self.result: object = None
        self.error: object = None
        self._thread = thread
        self._call_id = call_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self.error is None:
            self.error = error_of_call(error)
        try:
            self._thread.tool_called(self.name, self.args, self.result, error=self.error, call_id=self._call_id)
        except StratagraphError as failed:
            if error is None:
                raise
            error.add_note(f"The call was not captured: {failed}")
