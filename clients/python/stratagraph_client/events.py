"""Server-sent events, read from parts of a body as they come."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from stratagraph_client.answers import MOST_BYTES, not_of_the_service

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream. `id` is the position after it; an event without `data` only says a newer position."""

    kind: str
    data: str | None
    id: str | None


class EventParser:
    """Puts the events of one connection together. An event that was cut off is never returned."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._waiting: list[str] = []  # further parts of the rest, which have no end of a line
        self._kind = ""
        self._data: list[str] = []
        self._id: str | None = None
        self._size = 0  # bytes of the event that has not ended
        self._searched = 0  # characters of the rest that have no end of a line

    def feed(self, part: bytes) -> Iterator[Event]:
        """Yield the events that end in the next part of the body."""
        text = self._decode.decode(part)
        self._size += len(part)
        if self._size > MOST_BYTES:
            raise not_of_the_service(f"an event of more than {MOST_BYTES} bytes")
        self._waiting.append(text)
        if _LINE_END.search(text) is None and not self._rest.endswith("\r"):
            return  # a long line would be copied for each of its parts
        self._rest += "".join(self._waiting)
        self._waiting.clear()
        begin = 0
        search = self._searched
        while (found := _LINE_END.search(self._rest, search)) is not None:
            if found.group() == "\r" and found.end() == len(self._rest):
                break  # it may be half of a CR LF
            line, begin = self._rest[begin : found.start()], found.end()
            search = begin
            if (event := self._take(line)) is not None:
                self._size = 0
                yield event
        self._rest = self._rest[begin:]
        self._searched = max(0, len(self._rest) - 1)

    def _take(self, line: str) -> Event | None:
        if line:
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                self._kind = value
            elif field == "data":
                self._data.append(value)
            elif field == "id" and "\0" not in value:
                self._id = value
            return None
        if not (self._data or self._kind or self._id):
            self._size = 0  # a comment
            return None
        event = Event(self._kind, "\n".join(self._data) if self._data else None, self._id)
        self._kind, self._data, self._id = "", [], None
        return event
