"""Reading the file of an export: first whole, to see that it is complete and unchanged, then line by line.

No more than one line is held. A file that ends in `.gz`, or begins as gzip does, is unpacked while it is read.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast
from uuid import UUID

import orjson

from stratagraph.memory.transfer.new_ids import IdSet
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.exported import HeaderLine, parse_line
from stratagraph.store.model.exported.parsing import KINDS

MAX_LINE = 2**28  # bytes of one line: a record with all of its history
_GZIP = b"\x1f\x8b"
_OTHERS = (
    "; give a file that `stratagraph export` wrote in its native form. Records in the RFC's forms and memories of other"
    " systems are for `stratagraph import memories`"
)
_COMPLETE = "; export again, or copy the file again"


@dataclass(slots=True)
class Totals:
    """What a whole file has: its header, the number of lines of each kind, and the ids of lines, by their kind."""

    header: HeaderLine
    counts: Counter[str] = field(default_factory=Counter)
    ids: dict[str, IdSet] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A line of the file as it is, its number from 1, its kind, and what it says as its type."""

    number: int
    kind: str
    text: bytes
    type: object = None


class ExportFile:
    """An export in a file, which can be read several times."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.is_file():
            raise InvalidInput(f"{path} is not a file; give one that `stratagraph export` wrote", path=["file"])

    def totals(self, *, ids_of: Collection[str], advance: Callable[[int], None] = lambda _: None) -> Totals:
        """Read the whole file and return what it has; `advance` is called with the numbers of lines just read.

        Raises InvalidInput where it is no export, is cut off, or was changed. The ids of lines of the kinds `ids_of`
        are kept, which takes 16 bytes for each.
        """
        totals: Totals | None = None
        digest = hashlib.sha256()
        for number, text in enumerate(self._texts(), 1):
            document = self._document(number, text)
            kind = document.get("kind")
            if totals is None:
                totals = Totals(header=self._header(text))
                totals.ids = {name: IdSet() for name in ids_of}
            elif kind == "end":
                self._check_end(document, totals, digest.hexdigest())
                totals.counts["end"] += 1
                continue
            if totals.counts["end"]:
                raise InvalidInput(f"line {number}: comes after the last line{_COMPLETE}", path=[f"line {number}"])
            if not isinstance(kind, str) or kind not in KINDS or _mark(kind) not in text:
                raise InvalidInput(
                    f"line {number}: kind: {shown(kind)} is none of {', '.join(KINDS)}, so the file is no export of a"
                    " version that this release reads",
                    path=[f"line {number}"],
                )
            digest.update(text)
            totals.counts[str(kind)] += 1
            if kind in totals.ids and (id_ := _id_in(document)) is not None:
                totals.ids[str(kind)].add(id_)
            if number % 1_000 == 0:
                advance(1_000)
        if totals is None:
            raise InvalidInput(f"{self.path.name} is empty; give a file that `stratagraph export` wrote", path=["file"])
        if not totals.counts["end"]:
            raise InvalidInput(
                f"{self.path.name} has no last line of kind end, so it is cut off{_COMPLETE}", path=["file"]
            )
        return totals

    def lines(self, kinds: Collection[str]) -> Iterator[NumberedLine]:
        """Yield the lines of these kinds in their order."""
        marks = [_mark(kind) for kind in kinds]  # without which a line need not be parsed
        for number, text in enumerate(self._texts(), 1):
            if not any(mark in text for mark in marks):
                continue
            document = self._document(number, text)
            kind = document.get("kind")
            if kind in kinds:
                yield NumberedLine(number, str(kind), text, document.get("type"))

    def _texts(self) -> Iterator[bytes]:
        try:
            with self._opened() as file:
                number = 1
                while text := file.readline(MAX_LINE + 1):
                    if len(text) > MAX_LINE:
                        raise InvalidInput(
                            f"line {number}: has more than {MAX_LINE} bytes, so it is no line of an export",
                            path=[f"line {number}"],
                        )
                    yield text
                    number += 1
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InvalidInput(f"{self.path.name} is damaged or cut off gzip data{_COMPLETE}", path=["file"]) from error
        except OSError as error:
            raise InvalidInput(f"{self.path.name} cannot be read: {error.strerror}", path=["file"]) from error

    def _opened(self) -> IO[bytes]:
        with self.path.open("rb") as file:
            is_packed = file.read(2) == _GZIP
        return cast(IO[bytes], gzip.open(self.path, "rb")) if is_packed else self.path.open("rb")

    def _document(self, number: int, text: bytes) -> dict[str, object]:
        try:
            document = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise InvalidInput(
                f"line {number}: is not JSON, so the file is damaged or cut off, or is no export{_COMPLETE}",
                path=[f"line {number}"],
            ) from error
        if not isinstance(document, dict):
            raise InvalidInput(
                f"line {number}: is not a JSON object, so the file is no export; give one that `stratagraph export`"
                " wrote",
                path=[f"line {number}"],
            )
        return document

    def _header(self, text: bytes) -> HeaderLine:
        try:
            line = parse_line(text)
        except InvalidInput as error:
            error.move(lambda path: ["line 1", *path], lambda said: f"line 1: {said}{_OTHERS}")
            raise
        if not isinstance(line, HeaderLine):
            raise InvalidInput(f"line 1: is not the header of an export{_OTHERS}", path=["line 1"])
        return line

    def _check_end(self, document: dict[str, object], totals: Totals, sha256: str) -> None:
        if document.get("sha256") != sha256:
            raise InvalidInput(
                f"{self.path.name} was changed since it was written: the hash of its lines is not that of its last"
                f" line{_COMPLETE}",
                path=["file"],
            )
        counts = document.get("counts")
        if not isinstance(counts, dict) or any(
            totals.counts[kind] != counts.get(kind, 0) for kind in counts.keys() | totals.counts.keys()
        ):
            raise InvalidInput(f"{self.path.name} has other lines than its last line counts{_COMPLETE}", path=["file"])


def _mark(kind: str) -> bytes:
    return f'"{kind}"'.encode()


def id_in(text: bytes) -> UUID | None:
    """Return the id of a line that is an object, None if it has none."""
    return _id_in(orjson.loads(text))


def _id_in(document: dict[str, object]) -> UUID | None:
    try:
        return UUID(str(document.get("id")))
    except ValueError:
        return None
