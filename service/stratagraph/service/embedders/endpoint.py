"""An embedder behind HTTP that speaks OpenAI's protocol, as vLLM, Ollama, text-embeddings-inference and others do.

`POST {url}/embeddings` with `model` and `input`, a list of texts; the answer's `data` has an `embedding` for each, with
its `index`. See docs/embedders.md.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import httpx
import orjson

from stratagraph.memory.embedding.embedder import PROBE, EmbedderUnavailable, Refused, Usage, Use, Vector, unit_vector
from stratagraph.service.model_endpoint import Errors, ModelEndpoint

ATTEMPTS = 5  # at one batch, while the endpoint is overloaded or does not answer
FIRST_PAUSE_S = 0.5  # before the second attempt; doubles with each further one
LONGEST_PAUSE_S = 30.0  # also where the endpoint asks for a longer one; the job comes back later
TIMEOUT = httpx.Timeout(30.0, connect=5.0)  # seconds for one attempt
MAX_BATCH = 64  # texts of one request
MAX_BATCH_CHARACTERS = 100_000
MAX_ANSWER = 64  # MiB of one answer


class _TextsRefused(Exception):
    """The endpoint blames the texts of a request."""


class _Overloaded(Exception):
    """The endpoint may answer later, after `pause_s` seconds if it says so."""

    def __init__(self, reason: str, pause_s: float | None = None) -> None:
        super().__init__(reason)
        self.pause_s = pause_s


class EmbeddingEndpoint:
    """The embedder at `url`, such as https://api.openai.com/v1. Open with `async with`.

    `key` is sent as a bearer token, and is in no log and no error. With `dimensions`, the endpoint is asked for vectors
    of so many.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str,
        key: str | None = None,
        dimensions: int | None = None,
        timeout: httpx.Timeout = TIMEOUT,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        self._model = model
        self._dimensions = dimensions
        self._first_pause_s = first_pause_s
        self._usage = Usage()
        self._endpoint = ModelEndpoint(
            url,
            "embeddings",
            name="embedder",
            key=key,
            timeout=timeout,
            limits=httpx.Limits(max_connections=16, max_keepalive_connections=4),
            most=MAX_ANSWER,
            errors=Errors(refused=_TextsRefused, overloaded=_Overloaded, unavailable=EmbedderUnavailable),
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

    @property
    def dimensions(self) -> int | None:
        return self._dimensions

    @property
    def usage(self) -> Usage:
        return self._usage

    async def prepare(self) -> None:
        """Do nothing: an endpoint is ready or not by itself."""

    def answers_as(self, name: str, dimensions: int) -> bool:
        """Return True: a former model is asked for by its name, and an endpoint that lacks it says so."""
        return True

    async def embed(self, texts: Sequence[str]) -> list[Vector | Refused]:
        found: list[Vector | Refused] = []
        for batch in _batches(texts):
            found += await self._embed_batch(batch)
        if found and all(isinstance(one, Refused) for one in found):
            (probe,) = await self._embed_batch([PROBE])
            if isinstance(probe, Refused):
                raise EmbedderUnavailable(
                    f"The embedder refuses every text ({probe.reason}): check STRATAGRAPH_EMBEDDER_MODEL and"
                    " STRATAGRAPH_EMBEDDER_DIMENSIONS"
                )
        return found

    async def embed_question(self, forms: Sequence[str], *, name: str, dimensions: int) -> list[Vector]:
        # A former model's number of dimensions is asked for only where one is configured: not every endpoint takes it.
        asked = dimensions if self._dimensions is not None else None
        try:
            found = await self._call(forms, use="question", model=name, dimensions=asked)
        except (_TextsRefused, _Overloaded) as error:
            raise EmbedderUnavailable(f"The embedder gives no vector for a question: {error}") from None
        made = [one for one in found if not isinstance(one, Refused) and len(one) == dimensions]
        if len(made) < len(forms):
            raise EmbedderUnavailable(f"The embedder gives no vector of {dimensions} dimensions for a question")
        return made

    async def _embed_batch(self, texts: Sequence[str]) -> list[Vector | Refused]:
        """Embed the texts of one request; if it is refused, those of each half, down to the text that is at fault."""
        try:
            return await self._retried(texts)
        except _TextsRefused as error:
            if len(texts) == 1:
                return [Refused(str(error))]
        half = len(texts) // 2
        return [*await self._embed_batch(texts[:half]), *await self._embed_batch(texts[half:])]

    async def _retried(self, texts: Sequence[str]) -> list[Vector | Refused]:
        pause_s = self._first_pause_s
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._call(texts, use="record", model=self._model, dimensions=self._dimensions)
            except _Overloaded as error:
                if attempt == ATTEMPTS:
                    raise EmbedderUnavailable(f"The embedder does not answer: {error}") from None
                wanted_s = pause_s if error.pause_s is None else error.pause_s
                await asyncio.sleep(min(wanted_s * random.uniform(1.0, 1.5), LONGEST_PAUSE_S))
                pause_s *= 2
        raise AssertionError("the last attempt returns or raises")

    async def _call(
        self, texts: Sequence[str], *, use: Use, model: str, dimensions: int | None
    ) -> list[Vector | Refused]:
        """Send one request. Raises _TextsRefused, _Overloaded or EmbedderUnavailable."""
        body: dict[str, Any] = {"model": model, "input": list(texts), "encoding_format": "float"}
        if dimensions is not None:
            body["dimensions"] = dimensions
        began = time.monotonic()
        try:
            found = _vectors(await self._endpoint.post(orjson.dumps(body)), len(texts))
        except BaseException:
            self._usage.failures[use] += 1
            raise
        finally:
            self._usage.seconds[use] += time.monotonic() - began
        lengths = {len(one) for one in found if not isinstance(one, Refused)}
        if len(lengths | ({dimensions} if dimensions is not None and lengths else set())) > 1:
            self._usage.failures[use] += 1
            raise EmbedderUnavailable(
                f"The embedder answers with vectors of {', '.join(map(str, sorted(lengths)))} dimensions instead of"
                f" {dimensions or 'one number'}: check STRATAGRAPH_EMBEDDER_DIMENSIONS"
            )
        self._usage.texts[use] += len(texts)
        return found


def _vectors(body: bytes, count: int) -> list[Vector | Refused]:
    """Return the embedding, or the refusal, of each of the `count` texts.

    Raises _Overloaded if the answer has another form.
    """
    try:
        data = orjson.loads(body)["data"]
        by_index = {entry.get("index", place): entry.get("embedding") for place, entry in enumerate(data)}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _Overloaded("an answer that is no list of embeddings") from None
    if not by_index.keys() <= set(range(count)):
        raise _Overloaded("an answer for other texts")
    return [
        unit_vector(values)
        if isinstance(values := by_index.get(place), list)
        else Refused("the answer lacks its vector")
        for place in range(count)
    ]


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    batch: list[str] = []
    characters = 0
    for one in texts:
        if batch and (len(batch) == MAX_BATCH or characters + len(one) > MAX_BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(one)
        characters += len(one)
    if batch:
        yield batch
