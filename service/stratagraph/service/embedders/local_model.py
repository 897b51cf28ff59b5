"""An embedder in this process: an ONNX model in a directory, run by fastembed (the extra `fastembed`).

Nothing is downloaded here: the directory must hold `model.onnx` (or `onnx/model.onnx`) and the tokenizer's files, as
sentence-transformers and its exports to ONNX lay them out. `stratagraph embedder fetch` makes such a directory. See
docs/embedders.md.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from stratagraph.memory.embedding.embedder import PROBE, EmbedderUnavailable, Refused, Usage, Use, Vector, unit_vector
from stratagraph.service.settings import cores
from stratagraph.store.model.errors import Misconfigured

if TYPE_CHECKING:
    from fastembed import TextEmbedding

# Of the texts that the model computes at a time: their number times the length of the longest, which pads the others.
# Measured with all-MiniLM-L6-v2, whose 256 tokens are about 1,000 characters: larger batches leave the processor's
# cache.
BATCH_CHARACTERS = 1_200
LONGEST = 1_000  # characters beyond which most models do not read a text
MOST_THREADS = 4  # that embed records side by side, if there are so many cores
NICENESS = 15  # of these threads: on a machine that is busy, answers come first
NEEDED = ("config.json", "tokenizer.json", "tokenizer_config.json")
_MODEL_FILES = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx")
_WEIGHTS = ("_data", ".data")  # what exports add to the name of a model's file for its weights, where they are large


class LocalModel:
    """The model in `directory`. Close with `async with`.

    Questions have a thread of their own, so that none waits for a batch of records. Records have one for each core, of
    low priority. The model itself is loaded by `prepare`, or for the first text. Raises Misconfigured if the directory
    holds no such model, or if the extra is not installed.
    """

    def __init__(self, directory: Path) -> None:
        if not is_installed():
            raise Misconfigured("A local embedder needs the extra `fastembed`: install stratagraph[fastembed]")
        self._directory = directory
        found = model_file(directory)
        missing = [name for name in NEEDED if not (directory / name).is_file()]
        if found is None or missing:
            raise Misconfigured(
                f"STRATAGRAPH_EMBEDDER_DIR: {directory} lacks {', '.join(missing or ['model.onnx'])}; name the"
                " directory of a model exported to ONNX with its tokenizer"
            )
        self._file = found
        self._name = f"{directory.name}@{_digest(directory, found)[:16]}"
        self._usage = Usage()
        self._threads: dict[Use, ThreadPoolExecutor] = {
            "question": ThreadPoolExecutor(1, thread_name_prefix="embed-question"),
            "record": ThreadPoolExecutor(
                min(MOST_THREADS, cores()), thread_name_prefix="embed-record", initializer=_lower_priority
            ),
        }
        self._loading: asyncio.Task[TextEmbedding] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._loading is not None:
            self._loading.cancel()
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int | None:
        return None

    @property
    def usage(self) -> Usage:
        return self._usage

    async def prepare(self) -> None:
        await self._loaded()

    def answers_as(self, name: str, dimensions: int) -> bool:
        """Return whether this is the model: a former one would have to be loaded beside it."""
        return name == self._name

    async def embed(self, texts: Sequence[str]) -> list[Vector | Refused]:
        return await self._run(texts, "record")

    async def embed_question(self, forms: Sequence[str], *, name: str, dimensions: int) -> list[Vector]:
        made: list[Vector] = []
        for found in await self._run(forms, "question"):
            if isinstance(found, Refused):
                raise EmbedderUnavailable(f"The local model gives no vector for a question: {found.reason}")
            made.append(found)
        return made

    async def _run(self, texts: Sequence[str], use: Use) -> list[Vector | Refused]:
        began = time.monotonic()
        try:
            model = await self._loaded()
            loop = asyncio.get_running_loop()
            batches = list(_batches(texts))
            embedded = await asyncio.gather(
                *(
                    loop.run_in_executor(self._threads[use], _embed, model, [texts[place] for place in batch])
                    for batch in batches
                )
            )
        except BaseException:
            self._usage.failures[use] += 1
            raise
        finally:
            self._usage.seconds[use] += time.monotonic() - began
        self._usage.texts[use] += len(texts)
        by_place = {
            place: vector
            for batch, vectors in zip(batches, embedded, strict=True)
            for place, vector in zip(batch, vectors, strict=True)
        }
        return [by_place[place] for place in range(len(texts))]

    async def _loaded(self) -> TextEmbedding:
        """Return the model, loaded once; a caller that stops waiting does not stop the loading."""
        if self._loading is None or (self._loading.done() and not _succeeded(self._loading)):
            self._loading = asyncio.create_task(self._load(), name="loading of the embedder")
        return await asyncio.shield(self._loading)

    async def _load(self) -> TextEmbedding:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads["question"], _load, self._name, self._directory, self._file)
        except Exception as error:  # whatever the library raises for files that it cannot read
            raise EmbedderUnavailable(
                f"The model in {self._directory} cannot be loaded ({type(error).__name__}): check"
                " STRATAGRAPH_EMBEDDER_DIR"
            ) from error


def is_installed() -> bool:
    """Return whether the extra `fastembed` is installed; importing it would take a second."""
    return importlib.util.find_spec("fastembed") is not None


def model_file(directory: Path) -> str | None:
    """Return the name of the model's file in its directory; None if there is none."""
    return next((name for name in _MODEL_FILES if (directory / name).is_file()), None)


def _digest(directory: Path, file: str) -> str:
    """Return the SHA-256 of the model's file, and of its weights where the export has put them into files beside it."""
    digest = hashlib.sha256()
    for name in (file, *(f"{file}{ending}" for ending in _WEIGHTS)):
        if (directory / name).is_file():
            with (directory / name).open("rb") as content:
                hashlib.file_digest(content, lambda: digest)
    return digest.hexdigest()


def _succeeded(task: asyncio.Task[Any]) -> bool:
    return not task.cancelled() and task.exception() is None


def _load(name: str, directory: Path, file: str) -> TextEmbedding:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource

    if name not in {one["model"] for one in TextEmbedding.list_supported_models()}:
        TextEmbedding.add_custom_model(
            model=name,
            pooling=_pooling(directory),
            normalization=True,
            sources=ModelSource(url="file:"),  # one must be named; `specific_model_path` comes before it
            dim=int(_json(directory / "config.json").get("hidden_size", 0)),
            model_file=file,
        )
    model = TextEmbedding(name, specific_model_path=str(directory), local_files_only=True, threads=1)
    said = directory / "sentence_bert_config.json"
    if said.is_file() and isinstance(most := _json(said).get("max_seq_length"), int):
        # `tokenizer_config.json`, which fastembed reads, says 512 for models that were trained on 256 tokens.
        tokenizer: Any = model.model.tokenizer  # type: ignore[attr-defined]
        tokenizer.enable_truncation(max_length=min(most, tokenizer.truncation["max_length"]))
    return model


def _pooling(directory: Path) -> Any:
    """Return how vectors of tokens become one: as the model says in `1_Pooling/config.json`, else by their mean."""
    from fastembed.common.model_description import PoolingType

    said = directory / "1_Pooling" / "config.json"
    is_first = said.is_file() and _json(said).get("pooling_mode_cls_token", False)
    return PoolingType.CLS if is_first else PoolingType.MEAN


def _json(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _embed(model: TextEmbedding, texts: list[str]) -> list[Vector | Refused]:
    """Return the vectors of texts; a text on which the model fails is refused, and the others get theirs.

    Raises EmbedderUnavailable if the model fails on a plain text, too.
    """
    try:
        return _vectors(model, texts)
    except Exception as error:  # whatever tokenizer and model raise, such as for a text that they cannot read
        try:
            _vectors(model, [PROBE])
        except Exception:
            raise EmbedderUnavailable(
                f"The local model gives no vector of any text ({type(error).__name__}): check STRATAGRAPH_EMBEDDER_DIR"
            ) from error
        return _embed_apart(model, texts, error)


def _embed_apart(model: TextEmbedding, texts: list[str], error: Exception) -> list[Vector | Refused]:
    """Return the vectors of texts, on all of which at once the model has failed with `error`: half by half."""
    if len(texts) == 1:
        return [Refused(f"the model fails on it ({type(error).__name__})")]
    found: list[Vector | Refused] = []
    for part in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
        try:
            found += _vectors(model, part)
        except Exception as again:  # as above
            found += _embed_apart(model, part, again)
    return found


def _vectors(model: TextEmbedding, texts: list[str]) -> list[Vector | Refused]:
    return [unit_vector(vector.tolist()) for vector in model.embed(texts, batch_size=len(texts))]


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Yield the places of texts of about one length, which the model computes together."""
    batch: list[int] = []
    for place in sorted(range(len(texts)), key=lambda place: len(texts[place])):
        if batch and (len(batch) + 1) * min(len(texts[place]), LONGEST) > BATCH_CHARACTERS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def _lower_priority() -> None:
    """Lower the priority of this thread, where that can be done for one thread of a process."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
