"""One service per data directory. The second one says which is the first."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from stratagraph.store.model.errors import Misconfigured


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The service that runs on a data directory."""

    pid: int
    url: str | None


@contextmanager
def hold(data_dir: Path) -> Iterator[Path]:
    """Be the service of `data_dir` while the block runs; yields the file that tells others about it.

    Raises Misconfigured naming the process and address of the one that holds it already. The lock dies with its
    process, so a killed service leaves nothing to clean up.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        lock = (data_dir / "service.lock").open("a")
    except OSError as error:
        raise Misconfigured(f"STRATAGRAPH_DATA_DIR: {data_dir} cannot be used: {error.strerror}") from error
    told = data_dir / "service.json"
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            first = holder_of(data_dir)
            who = f"process {first.pid}" if first else "another process"
            where = f", which answers at {first.url}" if first and first.url else ""
            raise Misconfigured(
                f"{data_dir} is held by {who}{where}. Stop it, or give this one a directory of its own with"
                " STRATAGRAPH_DATA_DIR."
            ) from None
        try:
            yield told
        finally:
            told.unlink(missing_ok=True)


def tell(told: Path, url: str | None) -> None:
    told.write_text(json.dumps(asdict(Holder(pid=os.getpid(), url=url))))


def holder_of(data_dir: Path) -> Holder | None:
    """What the holder told of itself; None if nothing (it may just be starting)."""
    try:
        return Holder(**json.loads((data_dir / "service.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
