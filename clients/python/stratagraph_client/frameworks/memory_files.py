"""The files of Anthropic's memory tool: what each command answers and changes. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

ROOT = "/memories"
MOST_TEXT = 100_000  # characters of a file
MOST_FILES = 1_000  # files and directories
MOST_PATH = 1_000  # characters
MOST_LINES = 999_999
_NUMBER = 6  # characters of a line's number
_UNITS = "BKMG"
_DEPTH = 2  # levels that a listing shows

Path = tuple[str, ...]


class Refused(Exception):
    """A command was refused; the message is for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file with its text, or a directory, whose text is None; and the record in which it is stored."""

    path: Path
    text: str | None
    id: str = ""
    version: int = 0


@dataclass(slots=True, kw_only=True)
class Change:
    """What a command answers, and what it changes: entries to store, to remove, and to put in another one's place."""

    answer: str
    new: list[Entry] = field(default_factory=list)
    replaced: list[tuple[Entry, Entry]] = field(default_factory=list)
    removed: list[Entry] = field(default_factory=list)


class Tree:
    """The files below /memories, by their paths; `all` has those too that two programs have made at once."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries: dict[Path, Entry] = {}
        self.all = tuple(entries)
        for entry in self.all:
            self.entries.setdefault(entry.path, entry)

    def carry_out(self, command: Mapping[str, Any]) -> Change:
        """Return what a command answers and changes. Raises Refused."""
        match command.get("command"):
            case "view":
                return Change(answer=self._view(_text(command, "path"), command.get("view_range")))
            case "create":
                return self._create(_text(command, "path"), _text(command, "file_text"))
            case "str_replace":
                return self._replace(_text(command, "path"), _text(command, "old_str"), _text(command, "new_str", ""))
            case "insert":
                place = command.get("insert_line")
                if not isinstance(place, int):
                    raise Refused("The parameter `insert_line` must be a whole number")
                return self._insert(_text(command, "path"), place, _text(command, "insert_text"))
            case "delete":
                return self._delete(_text(command, "path"))
            case "rename":
                return self._rename(_text(command, "old_path"), _text(command, "new_path"))
        raise Refused(f"Unknown command: {command.get('command')}")

    def _view(self, shown: str, view_range: Any) -> str:
        path = resolved(shown)
        entry = self.entries.get(path)
        if path and entry is None:
            raise Refused(f"The path {shown} does not exist. Please provide a valid path.")
        if entry is None or entry.text is None:
            head = f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:"
            listed = [f"{_size(self._bytes(path))}\t{shown}"]
            listed += [
                f"{_size(self._bytes(one.path))}\t{shown}/{'/'.join(one.path[len(path) :])}{'/' * (one.text is None)}"
                for one in self._below(path)
                if len(one.path) - len(path) <= _DEPTH
                and not any(part.startswith(".") for part in one.path[len(path) :])
            ]
            return "\n".join([head, *listed])
        lines = entry.text.split("\n")
        if len(lines) > MOST_LINES:
            raise Refused(f"File {shown} exceeds maximum line limit of 999,999 lines.")
        first = 1
        if isinstance(view_range, list) and len(view_range) == 2 and all(isinstance(one, int) for one in view_range):
            first = max(1, view_range[0])
            lines = lines[first - 1 : len(lines) if view_range[1] == -1 else view_range[1]]
        return f"Here's the content of {shown} with line numbers:\n" + "\n".join(_numbered(lines, first))

    def _create(self, shown: str, text: str) -> Change:
        path = resolved(shown)
        if not path or path in self.entries:
            raise Refused(f"File {shown} already exists")
        new = self._directories(path, shown)
        new.append(Entry(path=path, text=_checked(text, shown)))
        self._check_room(len(new))
        return Change(answer=f"File created successfully at: {shown}", new=new)

    def _replace(self, shown: str, old: str, new: str) -> Change:
        entry, text = self._file(shown)
        count = text.count(old)
        if count == 0:
            raise Refused(f"No replacement was performed, old_str `{old}` did not appear verbatim in {shown}.")
        if count > 1:
            lines = ", ".join(str(text[:place].count("\n") + 1) for place in _places(text, old))
            raise Refused(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}."
                " Please ensure it is unique"
            )
        changed = text[: text.index(old)].count("\n")
        edited = _checked(text.replace(old, new), shown)
        first = max(0, changed - 2)
        snippet = _numbered(edited.split("\n")[first : changed + 3], first + 1)
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return Change(answer="\n".join([head, *snippet]), replaced=_edited(entry, edited))

    def _insert(self, shown: str, place: int, text: str) -> Change:
        entry, before = self._file(shown)
        lines = before.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= place <= len(lines):
            raise Refused(f"Invalid `insert_line` parameter: {place}. It should be within the range [0, {len(lines)}].")
        lines.insert(place, text.rstrip("\n"))
        edited = "\n".join(lines)
        edited = _checked(edited if edited.endswith("\n") else f"{edited}\n", shown)
        return Change(answer=f"The file {shown} has been edited.", replaced=_edited(entry, edited))

    def _delete(self, shown: str) -> Change:
        path = resolved(shown)
        if not path:
            raise Refused("Cannot delete the /memories directory itself")
        if path not in self.entries:
            raise Refused(f"The path {shown} does not exist")
        removed = [self.entries[path], *self._below(path)]
        return Change(answer=f"Successfully deleted {shown}", removed=removed)

    def _rename(self, old_shown: str, new_shown: str) -> Change:
        old, new = resolved(old_shown), resolved(new_shown)
        if not old:
            raise Refused("Cannot rename the /memories directory itself")
        if not new or new in self.entries:
            raise Refused(f"The destination {new_shown} already exists")
        if old not in self.entries:
            raise Refused(f"The path {old_shown} does not exist")
        if new[: len(old)] == old:
            raise Refused(f"The path {old_shown} cannot be moved into itself")
        moved = [self.entries[old], *self._below(old)]
        directories = self._directories(new, new_shown)
        self._check_room(len(directories))
        return Change(
            answer=f"Successfully renamed {old_shown} to {new_shown}",
            new=directories,
            replaced=[(one, Entry(path=(*new, *one.path[len(old) :]), text=one.text)) for one in moved],
        )

    def _file(self, shown: str) -> tuple[Entry, str]:
        path = resolved(shown)
        entry = self.entries.get(path)
        if path and entry is None:
            raise Refused(f"The path {shown} does not exist. Please provide a valid path.")
        if entry is None or entry.text is None:
            raise Refused(f"The path {shown} is not a file.")
        return entry, entry.text

    def _directories(self, path: Path, shown: str) -> list[Entry]:
        """Return the directories above a path that are missing. Raises Refused where a file is one of them."""
        missing = []
        for length in range(1, len(path)):
            above = self.entries.get(path[:length])
            if above is None:
                missing.append(Entry(path=path[:length], text=None))
            elif above.text is not None:
                raise Refused(f"The path {shown} cannot be used: {ROOT}/{'/'.join(above.path)} is a file")
        return missing

    def _below(self, path: Path) -> list[Entry]:
        return [self.entries[one] for one in sorted(self.entries) if len(one) > len(path) and one[: len(path)] == path]

    def _bytes(self, path: Path) -> int:
        entry = self.entries.get(path)
        if entry is not None and entry.text is not None:
            return len(entry.text.encode())
        return sum(len((one.text or "").encode()) for one in self._below(path))

    def _check_room(self, more: int) -> None:
        if len(self.entries) + more > MOST_FILES:
            raise Refused(f"There are {len(self.entries)} files and directories, of at most {MOST_FILES}. Delete some.")


def resolved(shown: str) -> Path:
    """Return the parts of a path below /memories. Raises Refused for one that leads outside of it."""
    if not shown.startswith(ROOT):
        raise Refused(f"Path must start with {ROOT}, got: {shown}")
    if len(shown) > MOST_PATH:
        raise Refused(f"Path of {len(shown)} characters; at most {MOST_PATH} are allowed")
    _check_storable(shown, "Path")
    parts: list[str] = [ROOT[1:]]
    for part in shown[len(ROOT) :].split("/"):
        if part == "..":
            if not parts:
                break
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if parts[:1] != [ROOT[1:]]:
        raise Refused(f"Path {shown} would escape {ROOT} directory")
    return tuple(parts[1:])


def _checked(text: str, shown: str) -> str:
    """Return the text of a file. Raises Refused for one that cannot be stored."""
    if len(text) > MOST_TEXT:
        raise Refused(
            f"The file {shown} would have {len(text)} characters; at most {MOST_TEXT} are allowed. Use several files."
        )
    _check_storable(text, f"The file {shown}")
    return text


def _check_storable(text: str, what: str) -> None:
    if "\x00" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise Refused(f"{what} holds the character U+0000 or half of a surrogate pair, which cannot be stored")


def _text(command: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = command.get(name, default)
    if not isinstance(value, str):
        raise Refused(f"The parameter `{name}` must be a text")
    return value


def _edited(entry: Entry, text: str) -> list[tuple[Entry, Entry]]:
    return [(entry, Entry(path=entry.path, text=text))] if text != entry.text else []


def _numbered(lines: Iterable[str], first: int) -> list[str]:
    return [f"{number:>{_NUMBER}}\t{line}" for number, line in enumerate(lines, first)]


def _places(text: str, searched: str) -> list[int]:
    """Return every place of a text in another, also those that overlap."""
    found, place = [], text.find(searched)
    while place != -1:
        found.append(place)
        place = text.find(searched, place + 1)
    return found


def _size(count: int) -> str:
    if count == 0:
        return "0B"
    unit = min((count.bit_length() - 1) // 10, len(_UNITS) - 1)
    size = count / 1024**unit
    return f"{int(size)}{_UNITS[unit]}" if size == int(size) else f"{size:.1f}{_UNITS[unit]}"
