"""The embedder over HTTP: what it sends, what it takes, and what it does when the endpoint fails."""

from __future__ import annotations

import time

import httpx
import pytest
from fix_embedder import EmbeddingServer, embedding_server, vector_of
from fix_endpoint import Reply

from stratagraph.memory.embedding.embedder import EmbedderUnavailable, Refused
from stratagraph.service.embedders.endpoint import EmbeddingEndpoint

QUICK = httpx.Timeout(1.0)


def endpoint(server: EmbeddingServer, **options: object) -> EmbeddingEndpoint:
    settings = {"model": "small", "first_pause_s": 0.01, "timeout": QUICK} | options
    return EmbeddingEndpoint(server.url, **settings)  # type: ignore[arg-type] # options of one test


def cosine(one: object, other: list[float]) -> float:
    assert isinstance(one, list)
    return float(sum(a * b for a, b in zip(one, other, strict=True)) / sum(b * b for b in other) ** 0.5)


async def test_each_text_gets_its_own_vector_of_length_one_in_bounded_batches() -> None:
    texts = [f"text number {number}" for number in range(150)]
    async with embedding_server() as server, endpoint(server, key="s3cret") as asked:
        found = await asked.embed(texts)
    assert server.requests == 3
    assert server.texts == texts
    assert set(server.keys) == {"Bearer s3cret"}
    for text, vector in zip(texts, found, strict=True):
        assert cosine(vector, vector_of(text, model="small", dimensions=256)) == pytest.approx(1)
        assert cosine(vector, list(vector)) == pytest.approx(1)  # type: ignore[arg-type]
    assert asked.usage.texts == {"question": 0, "record": 150}


async def test_an_overloaded_endpoint_is_asked_again_after_the_time_that_it_names() -> None:
    replies = [
        Reply(429, headers={"Retry-After": "0.3"}),
        Reply(503, headers={"Retry-After": "Mon, 01 Jan 100000000000000 00:00:00 GMT"}),
        Reply(200, b"garbage"),
        Reply(200, b'{"data":3}'),
    ]
    async with (
        embedding_server(fault=lambda _: replies.pop(0) if replies else None) as server,
        endpoint(server) as asked,
    ):
        began = time.monotonic()
        (found,) = await asked.embed(["a car"])
        assert time.monotonic() - began >= 0.3
    assert not isinstance(found, Refused)
    assert server.requests == 5


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(503), "answered 503"),
        (Reply(401), "EMBEDDER_KEY"),
        (Reply(404), "EMBEDDER_MODEL"),
        (Reply(200, b"[]"), "no list of embeddings"),
        (Reply(200, b"{}", after_s=5), "no complete answer within"),
        (Reply(302, headers={"Location": "http://127.0.0.1:1/"}), "answered 302"),
    ],
)
async def test_an_endpoint_that_keeps_failing_is_reported_without_a_text_or_the_key(reply: Reply, said: str) -> None:
    timeout = httpx.Timeout(0.05)
    async with (
        embedding_server(fault=lambda _: reply) as server,
        endpoint(server, key="s3cret", timeout=timeout) as asked,
    ):
        with pytest.raises(EmbedderUnavailable, match=said) as failure:
            await asked.embed(["a text that is private"])
    assert "private" not in str(failure.value)
    assert "s3cret" not in str(failure.value)
    assert asked.usage.failures["record"] >= 1


async def test_a_refused_text_is_set_aside_and_the_others_of_its_batch_are_embedded() -> None:
    async with (
        embedding_server(fault=lambda texts: Reply(400) if "bad" in " ".join(texts) else None) as server,
        endpoint(server) as asked,
    ):
        found = await asked.embed([*(f"good {number}" for number in range(20)), "bad", "good again"])
    assert [place for place, one in enumerate(found) if isinstance(one, Refused)] == [20]
    assert server.requests <= 12  # it is searched by halves, not one by one


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_an_endpoint_that_refuses_everything_is_not_taken_for_bad_texts(status: int) -> None:
    async with embedding_server(fault=lambda _: Reply(status)) as server, endpoint(server) as asked:
        with pytest.raises(EmbedderUnavailable, match="refuses every text"):
            await asked.embed(["one", "two"])


@pytest.mark.parametrize("embedding", ["[]", "[0, 0]", '["a", 1]', "null", "[1.5e308, 1.5e308]", "[true, null]"])
async def test_a_vector_that_is_none_refuses_its_text_alone(embedding: str) -> None:
    body = f'{{"data": [{{"index": 1, "embedding": [3, 4]}}, {{"index": 0, "embedding": {embedding}}}]}}'.encode()
    async with (
        embedding_server(fault=lambda texts: Reply(200, body) if len(texts) == 2 else None) as server,
        endpoint(server) as asked,
    ):
        refused, vector = await asked.embed(["one", "two"])
    assert isinstance(refused, Refused)
    assert vector == pytest.approx([0.6, 0.8])


async def test_vectors_of_other_dimensions_than_asked_for_are_refused_as_a_whole() -> None:
    body = b'{"data": [{"index": 0, "embedding": [3, 4]}]}'
    async with embedding_server(fault=lambda _: Reply(200, body)) as server, endpoint(server, dimensions=32) as asked:
        with pytest.raises(EmbedderUnavailable, match="vectors of 2 dimensions instead of 32"):
            await asked.embed(["one"])


async def test_a_question_is_asked_once() -> None:
    async with embedding_server(fault=lambda _: Reply(503)) as server, endpoint(server) as asked:
        with pytest.raises(EmbedderUnavailable):
            await asked.embed_question(["where is the car?", "where?"], name="small", dimensions=256)
    assert server.requests == 1


async def test_nobody_listening_is_an_endpoint_that_is_not_available() -> None:
    async with EmbeddingEndpoint("http://127.0.0.1:1/v1", model="small", first_pause_s=0.01) as asked:
        with pytest.raises(EmbedderUnavailable, match="ConnectError"):
            await asked.embed(["one"])
