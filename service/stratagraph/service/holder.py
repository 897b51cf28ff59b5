"""Allow one service per data directory; a second one is refused with the address of the first."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import psutil

from stratagraph.service.local_socket import NAME as LOCAL_SOCKET
from stratagraph.store.model.errors import Misconfigured

LEFT_WORKERS_S = 30.0  # for which the workers of a killed service may finish their requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The service that uses a data directory: its process id and address. `url` is None if it does not run the API."""

    pid: int
    url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A data directory that this process holds: the file for `publish_address`, and the descriptor with the lock.

    A process that inherits the descriptor holds the lock until it ends.
    """

    address_file: Path
    lock: int


class InUse(Misconfigured):
    """Another process holds the data directory."""


@contextmanager
def hold(data_dir: Path, *, patience_s: float = LEFT_WORKERS_S) -> Iterator[Held]:
    """Hold the lock of `data_dir` during the block.

    Raises InUse, naming the process and address of the other service, if one holds the lock already. The kernel
    releases the lock when the process ends, so a killed service leaves nothing to clean up. Its workers hold the lock
    too, until they have finished their requests; they are waited for, up to `patience_s` seconds.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        lock = (data_dir / "service.lock").open("a")
    except OSError as error:
        raise Misconfigured(
            f"The data directory {data_dir} cannot be used: {error.strerror}. Name one that you may write, by"
            " STRATAGRAPH_DATA_DIR or as the path for `stratagraph.open`."
        ) from error
    path = data_dir / "service.json"
    with lock:
        if not _locked(lock, data_dir, patience_s):
            first = holder_of(data_dir)
            who = f"process {first.pid}" if first else "another process"
            where = f", at {first.url}" if first and first.url else ""
            raise InUse(
                f"{data_dir} is in use by {who}{where}. Stop that service, or set STRATAGRAPH_DATA_DIR to another"
                " directory."
            )
        try:
            yield Held(address_file=path, lock=lock.fileno())
        finally:
            path.unlink(missing_ok=True)
            (data_dir / LOCAL_SOCKET).unlink(missing_ok=True)


def _locked(lock: IO[str], data_dir: Path, patience_s: float) -> bool:
    """Take the lock, and return whether it was free, or is now that the workers of a killed service have ended."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            first = holder_of(data_dir)
            if first is None or psutil.pid_exists(first.pid) or time.monotonic() > deadline:
                return False
            time.sleep(0.1)
        else:
            return True


def publish_address(path: Path, url: str | None) -> None:
    """Write this process's id and `url` to the file that `hold` yielded."""
    path.write_text(json.dumps(asdict(Holder(pid=os.getpid(), url=url))))


def holder_of(data_dir: Path) -> Holder | None:
    """Return the service that wrote service.json in `data_dir`.

    None without a readable file, as during the start of a service. A killed service leaves its file behind.
    """
    try:
        return Holder(**json.loads((data_dir / "service.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
