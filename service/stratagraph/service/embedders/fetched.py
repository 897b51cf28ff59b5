"""The model that `stratagraph embedder fetch` has put into the cache directory: at most one, used without a setting."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stratagraph.service.embedders.local_model import NEEDED, model_file
from stratagraph.store.model.errors import StratagraphError

DEFAULT = "all-MiniLM-L6-v2"  # the model that is fetched unless another is named


class FetchFailed(StratagraphError):
    """The model was not fetched; the message says what to do."""

    code = "UNAVAILABLE"
    retryable = True


def fetched_model(cache_dir: Path) -> Path | None:
    """Return the directory of the model in the cache; None if there is none that is complete."""
    return next(filter(_is_complete, sorted(_home(cache_dir).glob("*/"))), None)


@contextmanager
def staging(cache_dir: Path, name: str) -> Iterator[Path]:
    """Yield a directory for the files of the model `name`, and put it in the place of the former model at the end.

    The directory is kept if the block fails, and yielded again, so that a fetch goes on where another one stopped.
    """
    staged = cache_dir / "embedder-partial" / name
    staged.mkdir(parents=True, exist_ok=True)
    yield staged
    for part in staged.rglob("*.part"):  # of a file that the model has no longer
        part.unlink()
    home = _home(cache_dir)
    shutil.rmtree(home, ignore_errors=True)
    staged.parent.rename(home)
    for other in home.iterdir():
        if other.name != name:
            shutil.rmtree(other)


def describe(directory: Path, *, max_tokens: int | None, takes_first: bool) -> None:
    """Write what the model's files lack: how many tokens it reads, and whether the first token's vector is taken."""
    for name, content in (
        ("sentence_bert_config.json", {"max_seq_length": max_tokens} if max_tokens is not None else None),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": takes_first, "pooling_mode_mean_tokens": not takes_first}),
    ):
        path = directory / name
        if content is not None and not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(content))


def size_of(directory: Path) -> int:
    """Return the number of bytes of the files of a model."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def suggest_once(cache_dir: Path) -> bool:
    """Return whether to suggest the fetching of a model: there is none, and it was not suggested before."""
    said = cache_dir / "embedder-suggested"
    if fetched_model(cache_dir) is not None or said.exists():
        return False
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        said.touch()
    except OSError:  # a directory that cannot be written: no model could be fetched into it either
        return False
    return True


def _home(cache_dir: Path) -> Path:
    return cache_dir / "embedder"


def _is_complete(directory: Path) -> bool:
    return model_file(directory) is not None and all((directory / name).is_file() for name in NEEDED)
