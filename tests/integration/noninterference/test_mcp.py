"""What a caller may not see changes no answer of the MCP server, neither of its tools nor of its resources."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import httpx
import orjson
import pytest
from fix_examples import repeated
from noninterference.comparing import check_one, check_pair
from noninterference.readings import Reading
from noninterference.steps import NAMES, WORDS, every_state_story, learning_story, story, whole_story
from noninterference.stores import UNKNOWN, Bench, Store

from stratagraph.graphql.context import Context
from stratagraph.graphql.masking import coded
from stratagraph.service.mcp.refusals import Refused
from stratagraph.service.mcp.resources import read
from stratagraph.service.mcp.tools import Caller, Session, run
from stratagraph.store.model.trust import Trust
from stratagraph_client import AsyncMemory

STORIES = 2
THREADS = ("t", "w")


class OneSchema(httpx.AsyncBaseTransport):
    """Executes requests in the services of a bench, with the trust of one caller."""

    def __init__(self, bench: Bench, trust: Trust) -> None:
        self._bench = bench
        self._trust = trust

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        asked = orjson.loads(await request.aread())
        found = await self._bench.schema.execute(
            asked["query"],
            variable_values=asked["variables"],
            operation_name=asked["operationName"],
            context_value=Context(self._trust, self._bench.services),
        )
        answer: dict[str, Any] = {"data": found.data}
        if found.errors:
            answer["errors"] = [coded(error).formatted for error in found.errors]
        return httpx.Response(200, content=orjson.dumps(answer))


def asking(seed: int) -> Reading:
    """Call the reading tools, and read resources, by the caller: of what it sees, of what is hidden, and of nothing."""

    async def ask(store: Store, probes: Sequence[UUID], number: int) -> None:
        store.bench.ids.begin(number)
        rng = random.Random(seed)
        seen = [made.id for made in store.seen]
        ids = [*rng.sample(seen, min(6, len(seen))), *probes, UNKNOWN]
        transport = OneSchema(store.bench, store.sight.caller(store.tenant))
        async with AsyncMemory("http://store", transport=transport, timeout_s=30.0) as memory:
            caller = Caller(memory=memory, session=Session(thread="of the reading"))

            async def note(what: str, answer: Any) -> None:
                try:
                    store.answers[f"mcp {what}"] = await answer
                except Refused as error:
                    store.answers[f"mcp {what}"] = error.message

            for position, id_ in enumerate(ids):
                query = rng.choice(NAMES)
                await note(f"explain {position}", run(caller, "explain", {"id": str(id_)}))
                await note(f"ranking {position}", run(caller, "explain", {"id": str(id_), "query": query}))
                for kind in ("record", "episode", "plan"):
                    await note(f"{kind} {position}", _texts(memory, f"stratagraph://{kind}/{id_}"))
            for thread in THREADS:
                await note(f"thread {thread}", _texts(memory, f"stratagraph://thread/{thread}"))
            for query in (*NAMES, *rng.sample(WORDS, 3)):
                for budget in (60, 400, 8_000):
                    asked = {"query": query, "limit": 20, "token_budget": budget}
                    await note(f"recall {query} {budget}", run(caller, "recall", asked))
                await note(f"lessons {query}", run(caller, "lessons", {"task": query}))

    return ask


async def _texts(memory: AsyncMemory, uri: str) -> list[Any]:
    text, data = await read(memory, uri)
    return [text.text, orjson.loads(data.text)]


@pytest.mark.parametrize("seed", range(STORIES))
async def test_hidden_records_change_no_answer_of_the_mcp_server(bench: Bench, seed: int) -> None:
    told = await check_pair(bench, f"mcp-{seed}", story(random.Random(seed), 24), asking(seed))
    answers = [value for name, value in told.answers.items() if str(name).startswith("mcp recall")]
    assert any(isinstance(one, dict) and one["memories"] for one in answers)


async def test_hidden_records_of_every_state_and_what_is_learned_of_them_change_no_answer(bench: Bench) -> None:
    await check_pair(bench, "mcp-states", every_state_story(), asking(1))
    await check_pair(bench, "mcp-learning", learning_story(random.Random(5)), asking(2))


async def test_nothing_hidden_is_in_an_answer_of_the_mcp_server(bench: Bench) -> None:
    for seed in range(repeated(1)):
        await check_one(bench, f"mcp-named-{seed}", story(random.Random(seed), 24), asking(seed), named=True)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1_000, 1_020))
async def test_hidden_records_change_no_answer_of_the_mcp_server_in_many_stories(bench: Bench, seed: int) -> None:
    await check_pair(bench, f"mcp-{seed}", story(random.Random(seed), 40), asking(seed))
    await check_pair(bench, f"mcp-whole-{seed}", whole_story(random.Random(seed)), asking(seed))
