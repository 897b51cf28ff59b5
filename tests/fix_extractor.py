"""A language model on loopback that speaks OpenAI's chat completions, with answers and faults that a test orders.

By itself it finds a fact in each text of the form "<Subject> <verb> <object>.", for a few verbs.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fix_endpoint import Endpoint, Reply, running

from stratagraph.service.extractors.endpoint import ChatEndpoint

VERBS = {"lives in": "lives_in", "works at": "works_at", "likes": "likes"}
_SAID = re.compile(rf"\b([A-Z]\w+) ({'|'.join(VERBS)}) ([\w ]+)")
Items = list[dict[str, Any]]


def found_in(items: Items) -> dict[str, Any]:
    """Return the facts of the new texts, as the model answers."""
    return {
        "facts": [
            {
                "subject": match[1],
                "predicate": VERBS[match[2]],
                "object": match[3],
                "item": item["item"],
                "quote": match[0],
            }
            for item in items
            if not item.get("known")
            for match in _SAID.finditer(item["text"])
        ]
    }


def completion(text: object, *, tokens: int | None = 100, finish: str = "stop") -> Reply:
    """Return a whole answer with this text, or with this value as JSON."""
    said = text if isinstance(text, str) else json.dumps(text)
    body: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": finish}]}
    if tokens is not None:
        body["usage"] = {"prompt_tokens": tokens - 1, "completion_tokens": 1, "total_tokens": tokens}
    return Reply(200, json.dumps(body).encode())


@dataclass
class ModelServer(Endpoint):
    """A running model. `bodies` are the requests, in order; `fault` may replace an answer.

    `answered` is set whenever a request has arrived.
    """

    path = "/v1/chat/completions"
    fault: Callable[[dict[str, Any]], Reply | None] | None = None
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def texts(self) -> list[str]:
        """The texts that the model was sent, in order."""
        return [item["text"] for body in self.bodies for item in items_of(body)]

    async def answer(self, headers: dict[str, str], body: dict[str, Any]) -> Reply:
        self.bodies.append(body)
        self.keys.append(headers.get("authorization"))
        self.asked.set()
        replaced = self.fault(body) if self.fault is not None else None
        if replaced is not None:
            await asyncio.sleep(replaced.after_s)
            return replaced
        return completion(found_in(items_of(body)))


def items_of(body: dict[str, Any]) -> Items:
    """Return the texts of a request."""
    found: Items = json.loads(body["messages"][1]["content"])["items"]
    return found


@asynccontextmanager
async def model_server() -> AsyncIterator[ModelServer]:
    """Run a model on a free port of loopback."""
    async with running(ModelServer()) as service:
        yield service


@asynccontextmanager
async def asked_model(**options: Any) -> AsyncIterator[tuple[ModelServer, ChatEndpoint]]:
    """Run a model, and open an endpoint to it."""
    async with model_server() as server, ChatEndpoint(server.url, model="test-model", key="secret", **options) as model:
        yield server, model
