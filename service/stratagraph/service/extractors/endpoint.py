"""A language model behind HTTP that speaks OpenAI's protocol, as vLLM, Ollama, llama.cpp and others do.

`POST {url}/chat/completions` with `model`, `messages` and a `response_format`; the answer's first choice has the text,
and `usage` the number of tokens. See docs/learning.md.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

import httpx
import orjson

from stratagraph.memory.learning.extraction.asking import tokens_of
from stratagraph.memory.learning.extraction.extractor import (
    Admission,
    Answer,
    ExtractorUnavailable,
    Message,
    Overloaded,
    RequestRefused,
)
from stratagraph.service.model_endpoint import Errors, ModelEndpoint

TIMEOUT = httpx.Timeout(120.0, connect=5.0)  # seconds for one attempt; a long answer of a local model takes a minute
MAX_ANSWER = 4  # MiB of one answer
MAX_TOKENS = 4_000  # of one answer
_FORMS = 3  # of a request: with a schema, with any JSON object, and with the messages alone


class ChatEndpoint:
    """The model at `url`, such as https://api.openai.com/v1. Open with `async with`.

    `key` is sent as a bearer token, and is in no log and no error. An endpoint that refuses a `response_format` is
    asked without a schema, and then with the messages alone, from then on.
    """

    def __init__(self, url: str, *, model: str, key: str | None = None, timeout: httpx.Timeout = TIMEOUT) -> None:
        self._model = model
        self._form = 0
        self._endpoint = ModelEndpoint(
            url,
            "chat/completions",
            name="extractor",
            key=key,
            timeout=timeout,
            limits=httpx.Limits(max_connections=4, max_keepalive_connections=1),
            most=MAX_ANSWER,
            errors=Errors(refused=lambda _: RequestRefused(), overloaded=Overloaded, unavailable=ExtractorUnavailable),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._endpoint.close()

    @property
    def name(self) -> str:
        return self._model

    async def ask(self, messages: list[Message], schema: dict[str, Any], *, admit: Admission) -> Answer:
        for form in range(self._form, _FORMS):
            await admit()
            try:
                body = await self._endpoint.post(self._body(messages, schema, form))
            except RequestRefused:
                if form == _FORMS - 1:
                    raise
            else:
                self._form = form
                return _answer(body, messages)
        raise AssertionError("unreachable: the last form of request returns or raises")

    def _body(self, messages: list[Message], schema: dict[str, Any], form: int) -> bytes:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": one.role, "content": one.content} for one in messages],
        }
        if form < _FORMS - 1:  # some models take no temperature, and name the limit otherwise
            body |= {"temperature": 0, "max_tokens": MAX_TOKENS}
        if form == 0:
            named = {"name": "facts", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif form == 1:
            body["response_format"] = {"type": "json_object"}
        return orjson.dumps(body)


def _answer(body: bytes, asked: list[Message]) -> Answer:
    """Return the text of an answer. Raises Overloaded if it is not a complete chat completion."""
    try:
        found = orjson.loads(body)
        choice = found["choices"][0]
        text = choice["message"]["content"]
    except (ValueError, KeyError, TypeError, IndexError):
        raise Overloaded("an answer that is no chat completion") from None
    if not isinstance(text, str):  # a refusal, or a call of a tool
        text = ""
    counted = found.get("usage")
    tokens = counted.get("total_tokens") if isinstance(counted, dict) else None
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
        tokens = tokens_of(asked) + tokens_of([Message("assistant", text)])
    return Answer(text=text, tokens=tokens, is_whole=choice.get("finish_reason") != "length")
