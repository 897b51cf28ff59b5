"""Files of recorded conversations: JSON Lines, JSON arrays, single JSON documents, compressed or in directories.

Each yields documents, which are JSON values in one of the known formats (`formats/`). Lines are read one by one; only a
file whose lines belong together, or that is one JSON value, is held as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import orjson

from stratagraph.memory.imports.formats.format import Format
from stratagraph.memory.imports.formats.known import format_of, nearest
from stratagraph.memory.imports.lines import MAX_LINE, BytesRead, Line, numbered_lines, opened, printable
from stratagraph.store.model.errors import InvalidInput

MAX_FILE = 256 * 2**20  # bytes, uncompressed, of a file that is read as a whole
ENDINGS = (".json", ".jsonl", ".ndjson", ".traj")  # of the files that are read in a directory, also with .gz
SHOWN = 20  # lines by which a format whose document is a whole file is recognised
KEPT = 100  # lines of no known format that are listed; further ones are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A JSON value with one or more conversations. `place` is `line 3` or `item 3`, or empty for a whole file.

    `is_cut` where the file's last line is not complete, as while it is written.
    """

    place: str
    value: Any
    format: Format
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedDocument:
    """A part of a file that is not read, and why."""

    place: str
    reason: str


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files that the paths name: each file, and those below each directory with one of the ENDINGS.

    Raises InvalidInput for a path that does not exist, and for a directory without such files.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            below = sorted(file for file in path.rglob("*") if file.is_file() and _is_named_as_trace(file))
            if not below:
                raise InvalidInput(
                    f"{printable(path)}: no file in it has one of the endings {', '.join(ENDINGS)}, also with .gz",
                    path=["path"],
                )
            found += below
        elif path.exists():
            found.append(path)
        else:
            raise InvalidInput(f"{printable(path)}: there is no such file", path=["path"])
    return list(dict.fromkeys(found))


def _is_named_as_trace(file: Path) -> bool:
    name = file.name.lower().removesuffix(".gz")
    return name.endswith(ENDINGS) and not name.startswith(".")


def read_documents(path: Path, read: BytesRead | None = None) -> Iterator[Document | RefusedDocument]:
    """Yield the documents of a file, and what is refused of it. Empty lines are skipped.

    A file of which nothing fits a known format yields one refusal. Raises InvalidInput if it cannot be read.
    `read` counts its bytes.
    """
    with opened(path, read) as file:
        lines = numbered_lines(file)
        beginning = list(islice(lines, SHOWN))
        if not beginning:
            return
        first = _value(beginning[0][1])
        if isinstance(first, RefusedDocument):
            held = _held(chain(beginning, lines))
            whole = _joined(held)
            if not isinstance(whole, RefusedDocument):
                yield from _one_value("", whole)
                return
            sequence = _in_sequence(held)
            if sequence:
                yield from _many_values(sequence)
                return
            if not any(isinstance(_value(line), dict) for _, line in held[:SHOWN]):
                yield whole
                return
            beginning, lines = held[:SHOWN], chain(held[SHOWN:], lines)
        elif len(beginning) == 1:
            yield from _one_value("line 1", first)
            return
        shown = [value for value in (_value(line) for _, line in beginning) if not isinstance(value, RefusedDocument)]
        together = format_of(shown, whole_file=True)
        if together is not None:
            yield from _whole_file(together, chain(beginning, lines))
        else:
            values = ((f"line {number}", _value(line)) for number, line in chain(beginning, lines))
            yield from _only_known(_each(values), shown)


def _value(line: bytes | None) -> Any:
    """Return the JSON value of a line, or why it is refused."""
    if line is None:
        return RefusedDocument(place="", reason=f"is longer than {MAX_LINE} bytes; split the conversation")
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return RefusedDocument(place="", reason=f"is not JSON ({error}); every line must be one JSON object")


def _held(lines: Iterable[Line]) -> list[Line]:
    """Return the lines of a file up to MAX_FILE bytes."""
    held: list[Line] = []
    size = 0
    for number, line in lines:
        held.append((number, line))
        size += len(line or b"")
        if size > MAX_FILE:
            break
    return held


def _joined(lines: Sequence[Line]) -> Any:
    """Return the JSON value that lines are together, such as an indented document, or why they are none."""
    if any(line is None for _, line in lines) or sum(len(line or b"") for _, line in lines) > MAX_FILE:
        return RefusedDocument(place="", reason=f"is larger than {MAX_FILE} bytes; write one conversation on each line")
    try:
        return orjson.loads(b"\n".join(line or b"" for _, line in lines))
    except orjson.JSONDecodeError as error:
        return RefusedDocument(place="", reason=f"is neither JSON nor JSON Lines ({error})")


def _in_sequence(lines: Sequence[Line]) -> list[Any]:
    """Return the JSON values that follow one another in lines, such as indented ones; none if they are something else.

    Exporters of spans print them so.
    """
    decoder = json.JSONDecoder()
    found: list[Any] = []
    if any(line is None for _, line in lines) or sum(len(line or b"") for _, line in lines) > MAX_FILE:
        return []
    try:
        text = b"\n".join(line or b"" for _, line in lines).decode()
        at = 0
        while at < len(text):
            _, end = decoder.raw_decode(text, at)
            found.append(orjson.loads(text[at:end]))
            at = end + (text[end : end + 1] == "\n")
    except (ValueError, RecursionError):
        return []
    return found


def _many_values(values: list[Any]) -> Iterator[Document | RefusedDocument]:
    """Yield the documents of a file with several values: all together, or each of them."""
    together = format_of(values[:SHOWN], whole_file=True)
    if together is not None:
        yield Document(place="", value=values, format=together)
    else:
        items = ((f"value {number}", one) for number, one in enumerate(values, 1))
        yield from _only_known(_each(items), values[:SHOWN])


def _one_value(place: str, value: Any) -> Iterator[Document | RefusedDocument]:
    """Yield the documents of a file that is one JSON value: the value, or the elements of a list."""
    for document, whole_file in (([value], True), (value, False), (value, True)):
        if whole_file and not isinstance(document, list):
            continue
        format_ = format_of(document, whole_file=whole_file)
        if format_ is not None:
            yield Document(place=place, value=document, format=format_)
            return
    if isinstance(value, list) and value:
        items = ((f"item {number}", one) for number, one in enumerate(value, 1))
        yield from _only_known(_each(items), value[:SHOWN])
    else:
        yield RefusedDocument(place=place, reason=nearest(value, [value]))


def _whole_file(format_: Format, lines: Iterable[Line]) -> Iterator[Document | RefusedDocument]:
    """Yield the one document of a file whose lines belong together. A last line that is cut off is left out."""
    values: list[Any] = []
    size = 0
    cut: RefusedDocument | None = None
    for number, line in lines:
        if cut is not None:
            yield cut
            return
        value = _value(line)
        size += len(line or b"")
        if size > MAX_FILE:
            yield RefusedDocument(place="", reason=f"is larger than {MAX_FILE} bytes; split it")
            return
        if isinstance(value, RefusedDocument):
            reason = f"{value.reason}; the lines of this file belong together, so none of it is imported"
            cut = RefusedDocument(place=f"line {number}", reason=reason)
        else:
            values.append(value)
    yield Document(place="", value=values, format=format_, is_cut=cut is not None)


def _each(values: Iterable[tuple[str, Any]]) -> Iterator[Document | RefusedDocument]:
    """Yield each value of a file as a document of its own."""
    for place, value in values:
        if isinstance(value, RefusedDocument):
            yield RefusedDocument(place=place, reason=value.reason)
        elif (format_ := format_of(value, whole_file=False)) is not None:
            yield Document(place=place, value=value, format=format_)
        else:
            yield RefusedDocument(place=place, reason=nearest(value))


def _only_known(found: Iterable[Document | RefusedDocument], shown: list[Any]) -> Iterator[Document | RefusedDocument]:
    """Yield what is found; but one refusal for the file, whose first values are `shown`, if none is a document."""
    refused: list[RefusedDocument] = []
    count = 0
    is_known = False
    for one in found:
        if isinstance(one, Document):
            is_known = True
            yield from refused
            if count > KEPT:
                yield RefusedDocument(place="", reason=f"{count - KEPT} further lines or items are not read either")
            refused, count = [], 0
            yield one
        elif is_known:
            yield one
        else:
            count += 1
            refused += [one] if count <= KEPT else []
    if is_known or not refused:
        return
    if count == 1:
        yield refused[0]
        return
    reason = nearest(shown[0], shown) if shown else refused[0].reason
    yield RefusedDocument(place="", reason=f"{reason} (none of its {count} lines or items is read)")
