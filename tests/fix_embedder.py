"""An embedding service on loopback that speaks OpenAI's protocol, with faults that a test orders.

Its vectors are deterministic: a text is the sum of fixed random directions, one for each of its words, and words of one
meaning (`SYNONYMS`) have the same direction. So texts that share a meaning are near each other without sharing a word.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fix_endpoint import Endpoint, Reply, running

SYNONYMS = {"automobile": "car", "vehicle": "car", "physician": "doctor", "canine": "dog", "puppy": "dog"}
Fault = Callable[[list[str]], Reply | None]


def vector_of(text: str, *, model: str, dimensions: int) -> list[float]:
    """Return the sum of the directions of the words of `text`; not of length 1, as no protocol promises it."""
    total = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()):
        meaning = f"{model}/{SYNONYMS.get(word, word)}"
        source = random.Random(hashlib.sha256(meaning.encode()).digest())
        total = [value + source.gauss(0, 1) for value in total]
    return total


@dataclass
class EmbeddingServer(Endpoint):
    """A running service. `texts` are all texts that it was sent, in order; `fault` may replace an answer."""

    path = "/v1/embeddings"
    dimensions: int = 256
    fault: Fault | None = None
    texts: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    traces: list[str | None] = field(default_factory=list)  # the header traceparent of each request
    requests: int = 0

    async def answer(self, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        self.requests += 1
        self.texts += body["input"]
        self.models.append(body["model"])
        self.keys.append(headers.get("authorization"))
        self.traces.append(headers.get("traceparent"))
        replaced = self.fault(body["input"]) if self.fault is not None else None
        if replaced is not None:
            await asyncio.sleep(replaced.after_s)
            return replaced
        dimensions = body.get("dimensions", self.dimensions)
        data = [
            {"index": place, "embedding": vector_of(text, model=body["model"], dimensions=dimensions)}
            for place, text in enumerate(body["input"])
        ]
        random.Random(1).shuffle(data)  # the order is in `index`
        return Reply(200, json.dumps({"object": "list", "data": data}).encode())


@asynccontextmanager
async def embedding_server(**options: Any) -> AsyncIterator[EmbeddingServer]:
    """Run an embedding service on a free port of loopback."""
    async with running(EmbeddingServer(**options)) as service:
        yield service
