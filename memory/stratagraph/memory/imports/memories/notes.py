"""Folders of Markdown notes, as Obsidian and Basic Memory write them: each note is a thing with statements about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from stratagraph.memory.imports.fields import Reading
from stratagraph.memory.imports.lines import MAX_LINE, opened, printable
from stratagraph.memory.imports.memories.documents import Notes
from stratagraph.memory.imports.memories.form import Named, RefusedMemory, Statement, Thing
from stratagraph.memory.imports.memories.format import Found, located
from stratagraph.memory.imports.memories.front_matter import NoteText, split_front_matter
from stratagraph.memory.imports.memories.markdown import Link, Parts, read_markdown, wiki_target
from stratagraph.memory.imports.memories.values import time_of
from stratagraph.store.model.errors import InvalidInput

SYSTEM = "notes"
_CREATED = ("occurred", "created", "created_at", "date", "creation_date")
_CHANGED = ("updated", "updated_at", "modified", "last_modified", "lastmod")
_NAMING = ("title", "aliases", "alias", "tags", "tag", "type", "permalink", "cssclasses", "cssclass")
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?!\d)")
MAX_NAME = 2_000  # characters of a note's title


@dataclass(frozen=True, slots=True)
class _Note:
    """A note as others link to it. `key` is its path in the folder without the ending, from which its id is made."""

    key: str
    named: Named


def read_notes(notes: Notes, reading: Reading) -> Iterator[Found]:
    """Yield the memories of a folder of notes; a note that cannot be read is refused, and the others are read."""
    links = _Links()
    for file in notes.files:
        with suppress(InvalidInput):  # it is refused below
            links.add(_note(file, notes, _text(file)))
    others = {file.name.casefold(): file for file in reversed(notes.others)}
    others |= {file.relative_to(notes.folder).as_posix().casefold(): file for file in notes.others}
    for file in notes.files:
        place = printable(file.relative_to(notes.folder))
        try:
            text = _text(file)
            memories = _memories(_note(file, notes, text), text.fields, text.body, links, others, reading)
            found = [located(one, place) for one in memories]
        except InvalidInput as error:
            yield RefusedMemory(place=place, reason=error.message)
        else:
            if text.problem is not None:
                reading.unread[f"front matter ({place}: {text.problem})"] += 1
            yield from found


class _Links:
    """The notes of a folder by every name that a link may use, and how often each name is used."""

    def __init__(self) -> None:
        self._notes: dict[str, Named] = {}

    def add(self, note: _Note) -> None:
        """Add a note. Of two with the same name, the first one keeps it; paths are unique."""
        path = PurePosixPath(note.key)
        self._notes[note.key.casefold()] = note.named
        for name in (path.name, note.named.name, *note.named.aliases):
            self._notes.setdefault(name.casefold(), note.named)

    def find(self, link: Link, origin: str) -> Named:
        """Return the thing that a link of the note `origin` means; one that is no note has its name alone."""
        target = link.target
        if link.is_path:
            target = _relative(origin, target)
        plain = re.sub(r"\.(md|markdown)$", "", target, flags=re.IGNORECASE)
        known = self._notes.get(plain.casefold()) or self._notes.get(PurePosixPath(plain).name.casefold())
        return known or Named(name=PurePosixPath(plain).name or plain)


def _relative(origin: str, target: str) -> str:
    """Return the path of a relative link in the folder. Steps out of the folder are left out."""
    parts = [] if target.startswith("/") else list(PurePosixPath(origin).parts[:-1])
    for part in PurePosixPath(target).parts:
        if part == "..":
            parts = parts[:-1]
        elif part not in (".", "/"):
            parts.append(part)
    return "/".join(parts)


def _text(file: Path) -> NoteText:
    """Return a note. Raises InvalidInput if nothing of it can be read."""
    with opened(file) as opened_file:
        content = opened_file.read(MAX_LINE + 1)
    if len(content) > MAX_LINE:
        raise InvalidInput(f"is longer than {MAX_LINE} bytes; split it")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    note = split_front_matter(text.replace("\r\n", "\n").replace("\x00", "\ufffd"))
    if note.problem is not None and not note.body.strip():
        raise InvalidInput(f"front matter: {note.problem}")
    return note


def _note(file: Path, notes: Notes, text: NoteText) -> _Note:
    fields = text.fields
    key = re.sub(r"\.(md|markdown)(\.gz)?$", "", printable(file.relative_to(notes.folder)), flags=re.IGNORECASE)
    title = fields.get("title")
    stem = PurePosixPath(key).name
    heading = re.search(r"^#[ \t]+(.+?)[ \t]*#*[ \t]*$", text.body, re.MULTILINE)
    name = str(title).strip() if isinstance(title, str | int | float) else ""
    name = name or (heading.group(1).strip() if heading is not None else "") or stem
    type_ = fields.get("type")
    aliases = [stem, *_texts(fields.get("aliases")), *_texts(fields.get("alias")), *_texts(fields.get("permalink"))]
    named = Named(
        name=name[:MAX_NAME],
        type=type_.strip()[:64] if isinstance(type_, str) and type_.strip() else "Note",
        id=f"{notes.name}/{key}",  # so that notes of two folders stay apart
        aliases=tuple(one for one in dict.fromkeys(aliases) if one.strip() and one != name)[:32],
    )
    return _Note(key, named)


def _texts(value: Any) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [str(one)[:MAX_NAME] for one in listed if isinstance(one, str | int) and not isinstance(one, bool)]


def _memories(
    note: _Note, fields: dict[str, Any], body: str, links: _Links, files: Mapping[str, Path], reading: Reading
) -> Iterator[Found]:
    parts = read_markdown(body)
    tags = tuple(
        dict.fromkeys(
            tag.strip().lstrip("#")
            for name in ("tags", "tag")
            for listed in _texts(fields.get(name))
            for tag in (listed.split(",") if "," in listed else listed.split())
            if tag.strip().lstrip("#")
        )
    )
    at = _time(fields, _CREATED, reading) or _day(note.key)
    shared: dict[str, Any] = {"at": at, "changed_at": _time(fields, _CHANGED, reading)}
    yield Thing(id=f"note:{note.named.id}", named=note.named, tags=tags, **shared)
    yield from _properties(note, fields, links, reading, tags, shared)
    seen: Counter[str] = Counter()

    def numbered(id_: str) -> str:
        """Return an id that tells parts of one note with the same name from each other."""
        seen[id_] += 1
        return id_ if seen[id_] == 1 else f"{id_}#{seen[id_]}"

    for section in parts.sections:
        heading = " > ".join(section.path)
        text = f"{heading}: {section.text}" if heading else section.text
        yield Statement(
            id=numbered(f"section:{note.named.id}:{heading}"),
            subject=note.named,
            predicate="note",
            value=text,
            about=_about(section.text, parts, links, note),
            attachments=tuple(_files(section.embedded, note, files, reading)),
            tags=tuple(dict.fromkeys((*tags, *section.tags))),
            **shared,
        )
    for observation in parts.observations:
        yield Statement(
            id=f"observation:{note.named.id}:{observation.category}:{observation.text}",
            subject=note.named,
            predicate=observation.category,
            value=observation.text,
            tags=tuple(dict.fromkeys((*tags, *observation.tags))),
            more={"context": observation.context} if observation.context else {},
            **shared,
        )
    for link in parts.links:
        target = links.find(link, note.key)
        if target == note.named:
            continue
        predicate = link.relation or "links_to"
        yield Statement(
            id=f"link:{note.named.id}:{predicate}:{target.id or target.name}",
            subject=note.named,
            predicate=predicate,
            value=target,
            tags=tags,
            more={"context": link.context} if link.context else {},
            **shared,
        )


def _files(names: Iterable[str], note: _Note, files: Mapping[str, Path], reading: Reading) -> Iterator[Path]:
    """Yield the files of the folder that a section embeds; those that are not there are counted."""
    for name in names:
        within = _relative(note.key, name).casefold()
        file = files.get(within) or files.get(PurePosixPath(name).name.casefold())
        if file is None:
            reading.skipped["embedded files that are not in the folder"] += 1
        else:
            yield file


def _about(text: str, parts: Parts, links: _Links, note: _Note) -> tuple[Named, ...]:
    """Return the notes that a section links to."""
    found = (links.find(link, note.key) for link in parts.links if link.relation is None and link.target in text)
    return tuple(dict.fromkeys(one for one in found if one != note.named))[:64]


def _properties(
    note: _Note, fields: dict[str, Any], links: _Links, reading: Reading, tags: tuple[str, ...], shared: dict[str, Any]
) -> Iterator[Statement]:
    """Yield a statement for each further field of the front matter, or for each of its values."""
    for name, value in fields.items():
        if name in _NAMING or not name.strip() or value in (None, "", [], {}):
            continue
        if name in (*_CREATED, *_CHANGED) and _is_time(value):
            continue
        listed = value if isinstance(value, list) else [value]
        for number, one in enumerate(listed):
            if one is None or isinstance(one, list | dict):
                reading.unread[f"front matter.{name}"] += 1
                continue
            target = wiki_target(one) if isinstance(one, str) else None
            plain = one.isoformat() if isinstance(one, datetime | date) else one
            if not isinstance(plain, str | int | float | bool):
                plain = str(plain)
            yield Statement(
                id=f"property:{note.named.id}:{name}:{number}",
                subject=note.named,
                predicate=name,
                value=links.find(Link(target=target), note.key) if target is not None else plain,
                tags=tags,
                **shared,
            )


def _time(fields: dict[str, Any], names: tuple[str, ...], reading: Reading) -> datetime | None:
    times = ((name, fields.get(name)) for name in names)
    return next(
        (time_of(value, f"front matter.{name}", reading.zone) for name, value in times if _is_time(value)), None
    )


def _is_time(value: Any) -> bool:
    """Return whether a field that is named like a time has one, and not a text such as `next week`."""
    try:
        return time_of(value, "", UTC) is not None
    except InvalidInput:
        return False


def _day(key: str) -> datetime | None:
    """Return the day that a note is called by, as daily notes are."""
    match = _DAY.match(PurePosixPath(key).name)
    try:
        return time_of(match.group(1), "file", None) if match is not None else None
    except InvalidInput:
        return None
