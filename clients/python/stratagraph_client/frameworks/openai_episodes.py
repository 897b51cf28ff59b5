"""Runs of the OpenAI Agents SDK as episodes, by a processor of its traces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

try:
    from agents.tracing import Span, Trace, TracingProcessor
    from agents.tracing.span_data import FunctionSpanData, GenerationSpanData, ResponseSpanData
except ImportError as error:
    raise ImportError(
        "The OpenAI Agents SDK is not installed; run: pip install 'stratagraph-client[openai-agents]'"
    ) from error

from stratagraph_client import Memory
from stratagraph_client.frameworks.delivery import Delivery
from stratagraph_client.frameworks.episodes import Episodes, Outlook, guarded
from stratagraph_client.frameworks.parts import result_of, text_and_files
from stratagraph_client.frameworks.response_items import ItemReader
from stratagraph_client.frameworks.steps import Called, Returned, Said, Step, arguments, result_text, side
from stratagraph_client.operations.enums import Outcome, Sensitivity

_INSTRUCTING = ("system", "developer")


class EpisodeTracing(Delivery, TracingProcessor):
    """A processor of traces that captures each run as an episode, without making it wait.

        with Memory() as memory, EpisodeTracing(memory) as episodes:
            add_trace_processor(episodes)
            await Runner.run(agent, "…", run_config=RunConfig(group_id="support-1"))

    The thread is the group of the trace, else the trace. An agent that is called as a tool has a thread of its own,
    named after it and the call's span. The end of the trace is the episode's outcome: FAILURE where an error ended it,
    else SUCCESS. A run that traces no sensitive data is not captured. See Delivery for `most`, `wait_s` and `strict`.
    """

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
        self._threads: dict[str, str] = {}  # by the id of a trace or a span that goes on
        self._errors: dict[str, str] = {}  # by the thread that they may end
        self._results: dict[str, list[tuple[str, str]]] = {}  # of functions, by the thread of their calls

    def on_trace_start(self, trace: Trace) -> None:
        def begin() -> None:
            group = getattr(trace, "group_id", None)
            self._threads[trace.trace_id] = str(group or trace.trace_id)

        guarded(self, begin)

    def on_trace_end(self, trace: Trace) -> None:
        def end() -> None:
            thread = self._threads.pop(trace.trace_id, None)
            if thread is not None:
                self._close(thread)

        guarded(self, end)

    def on_span_start(self, span: Span[Any]) -> None:
        def begin() -> None:
            outer = self._threads.get(span.parent_id or span.trace_id)
            if outer is not None:
                is_function = isinstance(span.span_data, FunctionSpanData)
                self._threads[span.span_id] = f"{outer}:{span.span_id}" if is_function else outer

        guarded(self, begin)

    def on_span_end(self, span: Span[Any]) -> None:
        def end() -> None:
            thread, data = self._threads.pop(span.span_id, None), span.span_data
            if thread is None:
                return
            if isinstance(data, FunctionSpanData):
                self._close(thread)
                outer = self._threads.get(span.parent_id or span.trace_id)
                if outer is not None:
                    output = "" if data.output is None else result_text(data.output)
                    self._results.setdefault(outer, []).append((data.name, output))
                return
            if span.error is not None:
                self._errors[thread] = span.error["message"]
            elif isinstance(data, ResponseSpanData | GenerationSpanData):
                self._errors.pop(thread, None)
            if isinstance(data, ResponseSpanData):
                self._respond(thread, data)
            elif isinstance(data, GenerationSpanData):
                self._episodes.of(thread).see(steps_of(data.input or ()))
                self._episodes.of(thread).answer(steps_of(data.output or ()))
                self._results.pop(thread, None)

        guarded(self, end)

    def shutdown(self) -> None:
        """Send what waits, up to `wait_s`."""
        self.close()

    def force_flush(self) -> None:
        """Send what waits, up to `wait_s`."""
        self.flush()

    def _respond(self, thread: str, data: ResponseSpanData) -> None:
        given = [{"role": "user", "content": data.input}] if isinstance(data.input, str) else data.input
        answered = data.response.output if data.response is not None else ()
        reader = ItemReader()
        self._episodes.of(thread).see(step for _, step in reader.read([_plain(item) for item in given or ()]))
        self._episodes.of(thread).answer(step for _, step in reader.read([_plain(item) for item in answered]))
        self._results.pop(thread, None)  # the request had them

    def _close(self, thread: str) -> None:
        episode, error = self._episodes.of(thread), self._errors.pop(thread, None)
        for tool, output in self._results.pop(thread, []):  # of calls whose results end the run
            episode.see_result(output, call_id=None, tool=tool)
        episode.close(Outcome.SUCCESS if error is None else Outcome.FAILURE, error)


def steps_of(messages: Iterable[Mapping[str, Any]]) -> Iterator[Step]:
    """Yield the steps of messages of the chat completions API."""
    for message in messages:
        role = message.get("role")
        if not isinstance(role, str) or role in _INSTRUCTING:
            continue
        if role in ("tool", "function"):
            yield Returned(text=result_of(message.get("content")), id=message.get("tool_call_id"))
            continue
        text, files = text_and_files(message.get("content"))
        text = text or str(message.get("refusal") or "")
        if text.strip() or files:
            yield Said(role=side(role), text=text, speaker=message.get("name"), files=files)
        for call in message.get("tool_calls") or ():
            function = call.get("function") or call.get("custom") or {}
            given = function.get("arguments", function.get("input"))
            yield Called(tool=str(function.get("name") or "tool"), args=arguments(given), turn=0, id=call.get("id"))


def _plain(item: Any) -> Any:
    return item.model_dump(exclude_none=True) if hasattr(item, "model_dump") else item
