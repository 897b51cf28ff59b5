"""Conversations with Anthropic's models as episodes, by a transport beneath the SDK's client.

It sees what is sent to the Messages API and what is answered, whichever part of the SDK asks: `create`, `stream`,
`parse`, the tool runner.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

try:
    import httpx2
except ImportError as error:
    raise ImportError("The Anthropic SDK is not installed; run: pip install 'stratagraph-client[anthropic]'") from error

from stratagraph_client import Memory
from stratagraph_client.frameworks.delivery import Delivery
from stratagraph_client.frameworks.episodes import Episode, Episodes, Outlook, guarded
from stratagraph_client.frameworks.parts import failure, result_of, text_and_files
from stratagraph_client.frameworks.steps import Called, Returned, Said, Step, arguments
from stratagraph_client.operations.enums import Outcome, Sensitivity

_PATH = "/v1/messages"
_thread: ContextVar[str | None] = ContextVar("stratagraph_thread", default=None)


class AnthropicEpisodes(Delivery):
    """Captures the conversations of a client as episodes, without making it wait.

        with Memory() as memory, AnthropicEpisodes(memory) as episodes:
            client = Anthropic(http_client=DefaultHttpxClient(transport=episodes.transport()))
            with episodes.thread("support-1"):
                client.beta.messages.tool_runner(…).until_done()

    What is asked within a `thread` block belongs to its episode, and the end of the block is the outcome: FAILURE for
    an exception, else SUCCESS. Nothing else is captured. See Delivery for `most`, `wait_s` and `strict`.
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
        super().__init__(memory, most=most, wait_s=wait_s, strict=strict)
        self._episodes = Episodes(self, Outlook(scope, sensitivity, tuple(tags)))

    @contextmanager
    def thread(self, thread_id: str | None = None) -> Iterator[str]:
        """Capture what is asked in the block, as one episode of a thread; return the thread's id."""
        thread = thread_id or str(uuid4())
        outer = _thread.set(thread)
        outcome, reason = Outcome.SUCCESS, None
        try:
            yield thread
        except BaseException as error:
            outcome, reason = Outcome.FAILURE, f"{type(error).__name__}: {error}"
            raise
        finally:
            _thread.reset(outer)
            guarded(self, lambda: self._episodes.of(thread).close(outcome, reason))

    def transport(self, inner: httpx2.BaseTransport | None = None) -> httpx2.BaseTransport:
        """Return a transport for `DefaultHttpxClient`. `inner` sends the requests; by default it is one of httpx2."""
        return _Transport(self, inner or httpx2.HTTPTransport())

    def async_transport(self, inner: httpx2.AsyncBaseTransport | None = None) -> httpx2.AsyncBaseTransport:
        """Return a transport for `DefaultAsyncHttpxClient`."""
        return _AsyncTransport(self, inner or httpx2.AsyncHTTPTransport())

    def asked(self, request: httpx2.Request) -> Asked | None:
        """Return a request to the Messages API in a `thread` block; None for any other."""
        thread = _thread.get()
        if thread is None or request.method != "POST" or not request.url.path.endswith(_PATH):
            return None
        return Asked(self, self._episodes.of(thread), request)


class Asked:
    """One request to the model, until its answer is read to the end. Only then is it captured."""

    def __init__(self, delivery: Delivery, episode: Episode, request: httpx2.Request) -> None:
        self._delivery = delivery
        self._episode = episode
        self._request = request
        self._read = bytearray()

    def has(self, response: httpx2.Response) -> bool:
        """Return whether nothing is to be read of an answer: it is none of the model, or is there already."""
        if response.status_code != 200:
            return True
        try:
            self.read(response.content)
        except httpx2.ResponseNotRead:
            return False
        self.end()
        return True

    def read(self, part: bytes) -> None:
        self._read += part

    def end(self) -> None:
        """Capture the request and its answer, once. An answer that was not read to its end is left out."""
        body, self._read = bytes(self._read), bytearray()
        if body:
            guarded(self._delivery, lambda: self._capture(body))

    def _capture(self, body: bytes) -> None:
        is_stream = body.lstrip().startswith((b"event:", b"data:", b":"))
        answer = streamed(body) if is_stream else json.loads(body)
        sent = json.loads(self._request.content)
        self._episode.see(steps_of(sent.get("messages") or ()))
        if answer is not None:
            self._episode.answer(steps_of([answer]))


class _Stream(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, asked: Asked) -> None:
        self._inner = inner
        self._asked = asked

    def __iter__(self) -> Iterator[bytes]:
        for part in self._inner:
            self._asked.read(part)
            yield part

    def close(self) -> None:
        self._asked.end()
        self._inner.close()


class _AsyncStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, asked: Asked) -> None:
        self._inner = inner
        self._asked = asked

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._asked.read(part)
            yield part

    async def aclose(self) -> None:
        self._asked.end()
        await self._inner.aclose()


class _Transport(httpx2.BaseTransport):
    def __init__(self, episodes: AnthropicEpisodes, inner: httpx2.BaseTransport) -> None:
        self._episodes = episodes
        self._inner = inner

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        asked = self._episodes.asked(request)
        if asked is not None:
            request.headers["accept-encoding"] = "identity"  # the answer is read as it comes
        response = self._inner.handle_request(request)
        if asked is not None and not asked.has(response) and isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Stream(response.stream, asked)
        return response

    def close(self) -> None:
        self._inner.close()


class _AsyncTransport(httpx2.AsyncBaseTransport):
    def __init__(self, episodes: AnthropicEpisodes, inner: httpx2.AsyncBaseTransport) -> None:
        self._episodes = episodes
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        asked = self._episodes.asked(request)
        if asked is not None:
            request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if asked is not None and not asked.has(response) and isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _AsyncStream(response.stream, asked)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


def steps_of(messages: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    """Yield the steps of messages, those that `stratagraph import traces` makes of them."""
    for message in messages:
        role, content = message["role"], message["content"]
        if role == "system":
            continue
        said: list[Any] = []
        calls: list[Called] = []
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            kind = block["type"]
            if kind.endswith("tool_use"):
                calls.append(Called(tool=block["name"], args=arguments(block.get("input")), turn=0, id=block["id"]))
            elif kind.endswith("tool_result"):
                yield from _said(role, said, calls)
                said, calls = [], []
                yield Returned(text=result_of(block.get("content")), id=block.get("tool_use_id"), failed=failure(block))
            else:
                said.append(block)
        yield from _said(role, said, calls)


def _said(role: str, parts: Sequence[Any], calls: Sequence[Called]) -> Iterator[Step]:
    text, files = text_and_files(list(parts))
    if text.strip() or files:
        yield Said(role=role, text=text, files=files)
    yield from calls


def streamed(body: bytes) -> dict[str, Any] | None:
    """Return the message that a stream of events makes; None where it ends too early."""
    ended = False
    blocks: dict[int, dict[str, Any]] = {}
    given: dict[int, str] = {}
    for line in body.decode().splitlines():
        if not line.startswith("data:"):
            continue
        event = json.loads(line.removeprefix("data:"))
        ended = ended or event["type"] == "message_stop"
        if event["type"] == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        elif event["type"] == "content_block_delta":
            delta, block = event["delta"], blocks[event["index"]]
            if delta["type"] == "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
            elif delta["type"] == "input_json_delta":
                given[event["index"]] = given.get(event["index"], "") + delta["partial_json"]
    if not ended:
        return None
    for index, text in given.items():
        blocks[index]["input"] = json.loads(text or "{}")
    return {"role": "assistant", "content": [blocks[index] for index in sorted(blocks)]}
