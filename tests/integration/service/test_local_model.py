"""The local embedder: a real ONNX model from a directory, run by fastembed, with nothing from the network."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from fastembed import TextEmbedding
from fix_model import DIMENSIONS, write_model

from stratagraph.memory.embedding.embedder import EmbedderUnavailable, Refused
from stratagraph.service.embedders.local_model import LocalModel
from stratagraph.store.model.errors import Misconfigured


def dot(one: Any, other: Any) -> float:
    return float(sum(a * b for a, b in zip(one, other, strict=True)))


async def test_a_model_in_a_directory_embeds_texts_by_their_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("the embedder asked the network")

    async with LocalModel(write_model(tmp_path / "tiny")) as model:
        monkeypatch.setattr(socket, "getaddrinfo", refused)
        car, vehicle, dog = await model.embed(["the car drives", "the vehicle drives", "dog sleeps"])
        (question,) = await model.embed_question(["vehicle"], name=model.name, dimensions=DIMENSIONS)
    assert len(question) == DIMENSIONS
    assert dot(car, vehicle) == pytest.approx(1, abs=1e-5)
    assert dot(car, car) == pytest.approx(1, abs=1e-5)
    assert dot(question, car) > 0.4 > dot(question, dog)
    assert model.usage.texts == {"question": 1, "record": 3}


async def test_the_name_of_a_model_is_that_of_its_content(tmp_path: Path) -> None:
    one, same, other = (write_model(tmp_path / str(number) / "tiny") for number in range(3))
    with (other / "model.onnx").open("ab") as file:
        file.write(b"\x12\x00")
    names = [LocalModel(path).name for path in (one, same, other)]
    assert names[0] == names[1] != names[2]
    assert not LocalModel(one).answers_as(names[2], DIMENSIONS)


async def test_the_name_of_a_model_tells_weights_that_are_in_a_file_of_their_own(tmp_path: Path) -> None:
    directory = write_model(tmp_path / "tiny")
    names = {LocalModel(directory).name}
    for weights in (b"one", b"other"):
        (directory / "model.onnx_data").write_bytes(weights)
        names.add(LocalModel(directory).name)
    assert len(names) == 3


async def test_a_prepared_model_answers_its_first_question_without_loading(tmp_path: Path) -> None:
    directory = write_model(tmp_path / "tiny")
    async with LocalModel(directory) as model:
        await model.prepare()
        (directory / "model.onnx").unlink()
        assert len(await model.embed_question(["car", "dog"], name=model.name, dimensions=DIMENSIONS)) == 2
        assert model.usage.texts == {"question": 2, "record": 0}


async def test_the_event_loop_goes_on_while_texts_are_embedded(tmp_path: Path) -> None:
    async with LocalModel(write_model(tmp_path / "tiny")) as model:
        await model.embed(["car"])
        work = asyncio.create_task(model.embed(["the car drives"] * 5_000))
        turns = 0
        while not work.done():
            turns += 1
            await asyncio.sleep(0)
        assert turns > 10


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json", "config.json"])
async def test_a_directory_without_a_model_is_refused_with_what_it_lacks(tmp_path: Path, missing: str) -> None:
    directory = write_model(tmp_path / "tiny")
    (directory / missing).unlink()
    with pytest.raises(Misconfigured, match=missing.replace(".", r"\.")):
        LocalModel(directory)


async def test_a_damaged_model_is_not_available(tmp_path: Path) -> None:
    directory = write_model(tmp_path / "tiny")
    (directory / "model.onnx").write_bytes(b"no model")
    async with LocalModel(directory) as model:
        with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
            await model.embed(["car"])


@dataclass
class FailingOn:
    """A model that raises for any batch with one of some texts, as a tokenizer does; otherwise `model`."""

    model: TextEmbedding
    texts: set[str]
    batches: int = 0

    def embed(self, texts: list[str], **options: Any) -> Any:
        self.batches += 1
        if self.texts & set(texts) or "*" in self.texts:
            raise ValueError("the text itself, which no message may quote")
        return self.model.embed(texts, **options)


async def failing(model: LocalModel, *texts: str) -> FailingOn:
    """Replace the loaded model by one that fails on texts."""
    made = FailingOn(await model._loaded(), set(texts))
    model._loading = asyncio.create_task(asyncio.sleep(0, cast(TextEmbedding, made)))
    return made


async def test_a_text_on_which_the_model_fails_holds_up_no_other(tmp_path: Path) -> None:
    texts = [f"the car drives {number}" for number in range(64)]
    async with LocalModel(write_model(tmp_path / "tiny")) as model:
        expected = await model.embed(texts)
        replaced = await failing(model, texts[5], texts[40])
        found = await model.embed(texts)
        batches = replaced.batches
        with pytest.raises(EmbedderUnavailable):
            await model.embed_question([texts[4], texts[5]], name=model.name, dimensions=DIMENSIONS)
    assert [place for place, one in enumerate(found) if isinstance(one, Refused)] == [5, 40]
    assert all(
        one == pytest.approx(expected[place], abs=1e-6) for place, one in enumerate(found) if place not in (5, 40)
    )
    assert "itself" not in str(found[5])
    assert batches <= 2 + 2 * 2 * 6  # the whole and the probe, then two ways of six halvings


async def test_a_model_that_fails_on_every_text_is_not_available(tmp_path: Path) -> None:
    async with LocalModel(write_model(tmp_path / "tiny")) as model:
        replaced = await failing(model, "*")
        with pytest.raises(EmbedderUnavailable, match="no vector of any text"):
            await model.embed(["the car drives"] * 64)
    assert replaced.batches == 2


async def test_texts_of_any_length_get_the_vectors_that_they_get_alone(tmp_path: Path) -> None:
    texts = ["the car drives " * length + "dog" for length in (1, 300, 2, 40, 0, 300, 5)]
    async with LocalModel(write_model(tmp_path / "tiny")) as model:
        alone = [(await model.embed([text]))[0] for text in texts]
        together = await model.embed(texts)
    assert [dot(one, other) for one, other in zip(alone, together, strict=True)] == pytest.approx([1] * len(texts))
    assert dot(alone[0], alone[4]) < 0.99


async def test_a_model_reads_as_many_tokens_as_it_was_trained_on(tmp_path: Path) -> None:
    directory = write_model(tmp_path / "tiny")
    (directory / "sentence_bert_config.json").write_text('{"max_seq_length": 3, "do_lower_case": false}')
    async with LocalModel(directory) as model:
        short, long = await model.embed(["the car drives", "the car drives dog dog dog"])
    assert dot(short, long) == pytest.approx(1, abs=1e-5)
