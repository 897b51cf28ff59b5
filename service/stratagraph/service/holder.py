"""Allow one holder per data directory. A program hands it over to a service; a second service is refused."""

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
from stratagraph.service.local_socket import ask_to_hand_over
from stratagraph.store.event_log import get_logger
from stratagraph.store.model.errors import Misconfigured

PATIENCE_S = 60.0  # for which a program may take to hand over, and workers of a killed service to finish requests
LOOK_S = 0.05  # between two attempts to take the lock
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """The process that holds a data directory: its id and address. `url` is None if it does not run the API.

    A program that has opened the store within itself `hands_over` to a service that asks.
    """

    pid: int
    url: str | None
    hands_over: bool = False


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
def hold(data_dir: Path, *, waits: bool = True) -> Iterator[Held]:
    """Hold the lock of `data_dir` during the block.

    Raises InUse, naming the process and address of the other service, if one holds the lock already. The kernel
    releases the lock when the process ends, so a killed service leaves nothing to clean up. Its workers hold the lock
    too, until they have finished their requests. Where it `waits`, as a service does, they are waited for, up to 60 s,
    and so is a program, which is asked to hand over; nobody else takes the lock meanwhile.
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
        if not _locked(lock, data_dir, PATIENCE_S if waits else 0.0):
            first = holder_of(data_dir)
            who = f"process {first.pid}" if first else "another process"
            where = f", at {first.url}" if first and first.url else ""
            if first and first.hands_over and waits:
                who += f", which was asked to hand it over and has not within {PATIENCE_S:g} s"
            raise InUse(
                f"{data_dir} is in use by {who}{where}. Stop that process, or set STRATAGRAPH_DATA_DIR to another"
                " directory."
            )
        try:
            yield Held(address_file=path, lock=lock.fileno())
        finally:
            path.unlink(missing_ok=True)
            (data_dir / LOCAL_SOCKET).unlink(missing_ok=True)


def _locked(lock: IO[str], data_dir: Path, patience_s: float) -> bool:
    """Take the lock, and return whether it was free, or is now.

    Whoever waits for it stands in line, by a lock of its own, without which nobody takes the first one: else a program
    could take the directory that another one hands over to a service.
    """
    deadline = time.monotonic() + patience_s
    asked: int | None = None
    with (data_dir / "service-next.lock").open("a") as line:
        is_next = False
        try:
            while True:
                is_next = is_next or _takes(line)
                if is_next and _takes(lock):
                    return True
                first = holder_of(data_dir)  # None while one begins or ends
                is_lasting = first is not None and not first.hands_over and psutil.pid_exists(first.pid)
                if is_lasting or time.monotonic() > deadline:
                    return False
                program = first.pid if is_next and first is not None and first.hands_over else asked
                if program != asked and ask_to_hand_over(data_dir):
                    asked = program
                    _log.info("waiting for a program to hand the store over", pid=asked)
                time.sleep(LOOK_S)
        finally:
            if is_next:
                fcntl.flock(line, fcntl.LOCK_UN)  # closing the file would leave it to a process forked meanwhile


def _takes(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def publish_address(path: Path, url: str | None, *, hands_over: bool = False) -> None:
    """Write this process's id and `url` to the file that `hold` yielded, and whether it hands over when asked."""
    path.write_text(json.dumps(asdict(Holder(pid=os.getpid(), url=url, hands_over=hands_over))))


def holder_of(data_dir: Path) -> Holder | None:
    """Return the process that wrote service.json in `data_dir`.

    None without a readable file, as during the start of a service. A killed service leaves its file behind.
    """
    try:
        return Holder(**json.loads((data_dir / "service.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None
