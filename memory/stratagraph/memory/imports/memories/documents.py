"""Files of memories: JSON Lines, one JSON value, compressed, or Markdown notes in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from stratagraph.memory.imports.lines import BOM, MAX_LINE, numbered_lines, opened, printable
from stratagraph.memory.imports.memories.form import RefusedMemory
from stratagraph.memory.imports.memories.format import SHOWN, Row
from stratagraph.store.model.errors import InvalidInput

MAX_VALUE = 64 * 2**20  # bytes, uncompressed, of a file that is one JSON value
ENDINGS = (".json", ".jsonl", ".ndjson", ".af")  # of the files that are read in a directory, also with .gz
NOTE_ENDINGS = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class Notes:
    """The Markdown notes below a folder, and the other files there, which they may embed."""

    folder: Path
    files: tuple[Path, ...]
    others: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """The name of the folder, by which its notes are told from those of another one."""
        return printable(self.folder.resolve().name)


def find_sources(paths: Iterable[Path]) -> list[Path | Notes]:
    """Return the files and folders of notes that the paths name. Hidden files and folders are left out.

    Raises InvalidInput for a path that does not exist, and for a directory without such files.
    """
    found: list[Path | Notes] = []
    for path in paths:
        if path.is_dir():
            files = [file for file in sorted(path.rglob("*")) if file.is_file() and not _is_hidden(file, path)]
            notes = tuple(file for file in files if _ends(file, NOTE_ENDINGS))
            exports = [file for file in files if _ends(file, ENDINGS)]
            if not notes and not exports:
                raise InvalidInput(
                    f"path: {path} has no file with the ending {', '.join((*ENDINGS, *NOTE_ENDINGS))}", path=["path"]
                )
            others = tuple(file for file in files if not _ends(file, NOTE_ENDINGS))
            found += [*([Notes(path, notes, others)] if notes else []), *exports]
        elif not path.exists():
            raise InvalidInput(f"path: {path} does not exist", path=["path"])
        elif _ends(path, NOTE_ENDINGS):
            found.append(Notes(path.parent, (path,)))
        else:
            found.append(path)
    return found


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _ends(file: Path, endings: tuple[str, ...]) -> bool:
    return file.name.lower().removesuffix(".gz").endswith(endings)


class FileRows:
    """The rows of a JSON file. Of JSON Lines, each is read when it is asked for; another file is held as a whole.

    Raises InvalidInput if the file cannot be read, is neither, or is one JSON value of more than MAX_VALUE bytes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._value: Any = None
        with opened(path) as file:
            first = [_is_object(line) for _, line in islice(numbered_lines(file), SHOWN)]
        self._is_lines = first[:1] == [True] and len(first) > 1
        if not self._is_lines:
            try:
                self._value = self._whole()
            except orjson.JSONDecodeError as error:
                # An indented value that is cut off has objects on some of its lines, too.
                if not first or sum(first) * 2 < len(first):
                    raise InvalidInput(f"file: {path} is neither JSON nor JSON Lines ({error})") from error
                self._is_lines = True

    def __iter__(self) -> Iterator[Row | RefusedMemory]:
        """Yield the lines of JSON Lines, the elements of a list, or the one value."""
        if not self._is_lines:
            if isinstance(self._value, list):
                yield from (Row(f"item {number}", value) for number, value in enumerate(self._value, 1))
            else:
                yield Row("", self._value)
            return
        with opened(self._path) as file:
            for number, line in numbered_lines(file):
                if line is None:
                    yield RefusedMemory(place=f"line {number}", reason=f"is longer than {MAX_LINE} bytes; split it")
                    continue
                try:
                    yield Row(f"line {number}", orjson.loads(line))
                except orjson.JSONDecodeError as error:
                    yield RefusedMemory(place=f"line {number}", reason=f"is not JSON ({error})")

    def beginning(self) -> list[Any]:
        """Return the values of the first rows."""
        return [row.value for row in islice(self, SHOWN) if isinstance(row, Row)]

    def _whole(self) -> Any:
        with opened(self._path) as file:
            content = file.read(MAX_VALUE + 1)
        if len(content) > MAX_VALUE:
            raise InvalidInput(
                f"file: {self._path} is one JSON value of more than {MAX_VALUE} bytes; write one memory on each line"
            )
        value = orjson.loads(content.removeprefix(BOM))
        # Some exports are written as the text of their JSON.
        return orjson.loads(value) if isinstance(value, str) and value.lstrip()[:1] in ("{", "[") else value


class JoinedRows:
    """The rows of several files, each with the name of its file in its place. One file at a time is held.

    The rest of a file that cannot be read is refused, and the others are read.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._held: FileRows | None = None

    def __iter__(self) -> Iterator[Row | RefusedMemory]:
        """Yield the rows of the first file, then those of the next one."""
        for file in self._files:
            try:
                rows = self._held or FileRows(file)
                self._held = rows if len(self._files) == 1 else None
                for row in rows:
                    yield replace(row, place=f"{printable(file.name)} {row.place}".strip())
            except InvalidInput as error:
                yield RefusedMemory(place=printable(file.name), reason=error.message.removeprefix("file: "))


def _is_object(line: bytes | None) -> bool:
    try:
        return line is None or isinstance(orjson.loads(line), dict)  # one that is too long is refused when it is read
    except orjson.JSONDecodeError:
        return False
