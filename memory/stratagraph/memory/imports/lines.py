"""Lines of the files that imports read, which may be compressed with gzip; no more than one is held."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from stratagraph.store.model.errors import InvalidInput

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_LINE = 16 * 2**20  # bytes; a longer line is refused without being held in memory
BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_CHUNK = 1 << 20  # bytes read at once

Line = tuple[int, bytes | None]  # its number, and None for one that is too long


def numbered_lines(file: IO[bytes]) -> Iterator[Line]:
    """Yield the lines that are not empty with their numbers, and None for one of more than MAX_LINE bytes."""
    for number, line in enumerate(_lines(file), 1):
        if line is None:
            yield number, None
        elif content := _stripped(line):
            yield number, content


def _lines(file: IO[bytes]) -> Iterator[bytes | None]:
    while line := file.readline(MAX_LINE + 1):
        if len(line) <= MAX_LINE or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(_CHUNK)  # the rest of the line is dropped
        yield None


def _stripped(line: bytes) -> bytes:
    """Return a line without white space and without the byte order mark that editors put at the start of a file."""
    return line.strip().removeprefix(BOM).strip()


def printable(path: Path | str) -> str:
    """Return a path as text; its bytes that are no UTF-8 are written as \\xNN."""
    return os.fsencode(path).decode("utf-8", errors="backslashreplace")


@dataclass(slots=True)
class BytesRead:
    """The bytes that were read of files since this was last asked."""

    count: int = 0

    def take(self) -> int:
        """Return the number, and begin anew."""
        count, self.count = self.count, 0
        return count


class _CountedFile(io.FileIO):
    """A file whose bytes are counted as they are read from the disk."""

    def __init__(self, path: Path, read: BytesRead) -> None:
        super().__init__(path)
        self._bytes_read = read

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        count = super().readinto(buffer)
        self._bytes_read.count += count or 0
        return count


@contextmanager
def opened(path: Path, read: BytesRead | None = None) -> Iterator[IO[bytes]]:
    """Open the file, uncompressed; `read` counts what is read of it, as it is on the disk.

    Raises InvalidInput if it cannot be read, or is no file, such as a named pipe.
    """
    name = printable(path)
    if path.exists() and not path.is_file():
        raise InvalidInput(f"file: {name} is no regular file; save what is to be read in one", path=["file"])
    try:
        with io.BufferedReader(_CountedFile(path, read or BytesRead())) as file:
            start = file.peek(len(_GZIP))
            if start.startswith(_UTF_16):
                raise InvalidInput(f"file: {name} is UTF-16; save it as UTF-8", path=["file"])
            if start.startswith(_GZIP):
                with gzip.open(file) as unpacked:
                    yield cast(IO[bytes], unpacked)
            else:
                yield file
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"file: {name} cannot be read: {reason}", path=["file"]) from error
