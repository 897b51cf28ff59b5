"""Directories that appear complete or not at all, whenever the process that makes them is killed."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from stratagraph.store.model.errors import Misconfigured

SUFFIX = ".partial"


@contextmanager
def staged(target: Path, *, discard: Callable[[Path], None] = shutil.rmtree) -> Iterator[Path]:
    """Yield a new directory beside `target` to be filled; rename it to `target` at the end, after writing it to disk.

    Its name is that of `target` with `.partial`. What a killed process left under that name is removed first; after an
    exception, the directory is removed at once. `discard` removes it. `target` must not exist, or be an empty
    directory, which the rename replaces. Raises Misconfigured if another process is filling the same directory, or a
    file or directory cannot be read or written.
    """
    partial = target.with_name(target.name + SUFFIX)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _locked(partial, discard)
    except OSError as error:
        raise Misconfigured(
            f"{partial} cannot be written: {error.strerror}. Choose a directory that you may write"
        ) from error
    try:
        try:
            yield partial
            flush_tree(partial)
            partial.rename(target)
            flush(target.parent)
        except BaseException as error:
            if partial.exists():
                discard(partial)
            if isinstance(error, OSError):
                raise Misconfigured(
                    f"{error.filename or target}: {error.strerror}. Nothing was put in place. Make room or correct the"
                    " permissions, then try again"
                ) from error
            raise
    finally:
        os.close(descriptor)


def _locked(partial: Path, discard: Callable[[Path], None]) -> int:
    """Create `partial`, empty, and return a descriptor that holds its lock; the kernel releases it with the process."""
    while True:
        with suppress(FileExistsError):
            partial.mkdir(mode=0o700)
        descriptor = os.open(partial, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise Misconfigured(f"Another process is writing {partial}. Wait for it, or choose another name") from None
        if not _is_at(descriptor, partial):  # another process has removed or renamed it in the meantime
            os.close(descriptor)
        elif any(partial.iterdir()):
            discard(partial)
            os.close(descriptor)
        else:
            return descriptor


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def flush_tree(directory: Path) -> None:
    """Write all files and directories below `directory` to disk."""
    for parent, _, names in os.walk(directory):
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                flush(path)
        flush(Path(parent))


def flush(path: Path) -> None:
    """Write one file, or the entries of one directory, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
