"""Runs of LangChain and LangGraph as episodes, by a callback handler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

try:
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
    from langchain_core.outputs import ChatGeneration, LLMResult
except ImportError as error:
    raise ImportError("LangChain is not installed; run: pip install 'stratagraph-client[langgraph]'") from error

from stratagraph_client import Memory
from stratagraph_client.frameworks.delivery import Delivery
from stratagraph_client.frameworks.episodes import Episode, Episodes, Outlook, guarded
from stratagraph_client.frameworks.parts import result_of, text_and_files
from stratagraph_client.frameworks.steps import Called, Returned, Said, Step, arguments, side
from stratagraph_client.operations.enums import Outcome, Sensitivity

_INSTRUCTING = ("system", "developer", "remove")
_INTERRUPTS = ("GraphInterrupt", "NodeInterrupt")  # by which a run waits for a person


class EpisodeCallback(Delivery, BaseCallbackHandler):
    """A callback handler that captures each run as an episode, without making it wait.

        with Memory() as memory, EpisodeCallback(memory) as episodes:
            graph.invoke(state, {"callbacks": [episodes], "configurable": {"thread_id": "support-1"}})

    The thread is `thread_id` of the run's configuration or metadata, else the id of the run. A run beneath a tool is a
    thread of its own, named after it and the call. The end of the outermost run is the episode's outcome: FAILURE for
    an exception, else SUCCESS, and none for an interrupt. See Delivery for `most`, `wait_s` and `strict`.
    """

    run_inline = True  # its methods only queue, and the order of events counts

    def __init__(
        self,
        memory: Memory,
        *,
        scope: str | None = None,
        sensitivity: Sensitivity | None = None,
        tags: Sequence[str] = (),
        most: int = 1_000,
        wait_s: float = 10.0,
        strict: bool = False,
    ) -> None:
        Delivery.__init__(self, memory, most=most, wait_s=wait_s, strict=strict)
        self._episodes = Episodes(self, Outlook(scope, sensitivity, tuple(tags)))
        self._runs: dict[UUID, str] = {}  # the thread of each run that goes on
        self._calls: dict[UUID, str | None] = {}  # of runs of tools
        self._interrupted: set[str] = set()  # threads whose run was interrupted

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        guarded(self, lambda: self._begin(run_id, parent_run_id, metadata))

    def on_chain_end(
        self, outputs: dict[str, Any], *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        def end() -> None:
            if parent_run_id is None:
                for one in _messages(outputs):
                    if isinstance(one, ToolMessage):  # of a run that ends with a tool
                        self._see_result(run_id, one)
            self._end(run_id, parent_run_id, None)

        guarded(self, end)

    def on_chain_error(
        self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        guarded(self, lambda: self._end(run_id, parent_run_id, error))

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        def begin() -> None:
            self._begin(run_id, parent_run_id, metadata)
            for batch in messages:
                self._episode(run_id).see(steps_of(batch))

        guarded(self, begin)

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        def begin() -> None:
            self._begin(run_id, parent_run_id, metadata)
            self._episode(run_id).see(Said(role="user", text=prompt) for prompt in prompts)

        guarded(self, begin)

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any) -> None:
        def end() -> None:
            for answers in response.generations:
                for answer in answers[:1]:  # further choices are not used
                    said = answer.message if isinstance(answer, ChatGeneration) else AIMessage(answer.text)
                    self._episode(run_id).answer(steps_of([said]))
            self._end(run_id, parent_run_id, None)

        guarded(self, end)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any) -> None:
        guarded(self, lambda: self._end(run_id, parent_run_id, error))

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        **_: Any,
    ) -> None:
        def begin() -> None:
            self._begin(run_id, parent_run_id, metadata)
            self._calls[run_id] = tool_call_id
            if tool_call_id is None:  # a program called it, and no model
                call = Called(
                    tool=serialized.get("name") or "tool", args=arguments(inputs or input_str), turn=0, id=str(run_id)
                )
                self._episode(run_id).answer([call])

        guarded(self, begin)

    def on_tool_end(self, output: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any) -> None:
        def end() -> None:
            if isinstance(output, ToolMessage):
                self._see_result(run_id, output)
            elif self._calls.get(run_id) is None:
                self._episode(run_id).see_result(result_of(output), call_id=str(run_id))
            self._end(run_id, parent_run_id, None)

        guarded(self, end)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any) -> None:
        def end() -> None:
            if parent_run_id is None or self._calls.get(run_id) is None:
                text = f"{type(error).__name__}: {error}"
                self._episode(run_id).see_result(text, call_id=str(run_id), failed=True)
            # Otherwise the graph tells the model what went wrong, and the next request has it; or the run fails.
            self._end(run_id, parent_run_id, error)

        guarded(self, end)

    def _begin(self, run_id: UUID, parent_run_id: UUID | None, metadata: Mapping[str, Any] | None) -> None:
        outer = self._runs.get(parent_run_id) if parent_run_id is not None else None
        if outer is None or parent_run_id is None:
            given = (metadata or {}).get("thread_id")
            self._runs[run_id] = str(given if given is not None else run_id)
        elif parent_run_id in self._calls:
            self._runs[run_id] = f"{outer}:{self._calls[parent_run_id] or parent_run_id}"
        else:
            self._runs[run_id] = outer

    def _see_result(self, run_id: UUID, message: ToolMessage) -> None:
        step = _returned(message)
        self._episode(run_id).see_result(step.text, call_id=step.id, failed=step.failed)

    def _episode(self, run_id: UUID) -> Episode:
        return self._episodes.of(self._runs[run_id])

    def _end(self, run_id: UUID, parent_run_id: UUID | None, error: BaseException | None) -> None:
        thread = self._runs.get(run_id)
        if thread is not None and type(error).__name__ in _INTERRUPTS:
            self._interrupted.add(thread)
        if thread is not None and (parent_run_id is None or self._runs.get(parent_run_id) != thread):
            outcome = Outcome.SUCCESS if error is None else Outcome.FAILURE
            reason = None if error is None else f"{type(error).__name__}: {error}"
            self._episodes.of(thread).close(None if thread in self._interrupted else outcome, reason)
            self._interrupted.discard(thread)
        self._runs.pop(run_id, None)
        self._calls.pop(run_id, None)


def steps_of(messages: Sequence[BaseMessage]) -> Iterator[Step]:
    """Yield the steps of messages, those that `stratagraph import traces` makes of them."""
    for message in messages:
        role = message.type if message.type != "chat" else str(getattr(message, "role", "user"))
        if role in _INSTRUCTING:
            continue
        if isinstance(message, ToolMessage):
            yield _returned(message)
            continue
        text, files = text_and_files(message.content)
        if text.strip() or files:
            yield Said(role=side(role), text=text, speaker=message.name, files=files)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                yield Called(tool=call["name"], args=arguments(call["args"]), turn=0, id=call["id"])
            for wrong in message.invalid_tool_calls:
                yield Called(tool=wrong["name"] or "tool", args=arguments(wrong["args"]), turn=0, id=wrong["id"])


def _returned(message: ToolMessage) -> Returned:
    failed = True if message.status == "error" else None
    return Returned(text=result_of(message.content), id=message.tool_call_id, tool=message.name, failed=failed)


def _messages(outputs: Any) -> list[BaseMessage]:
    given = outputs.get("messages") if isinstance(outputs, Mapping) else None
    return convert_to_messages(given) if isinstance(given, list) else []
