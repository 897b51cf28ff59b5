"""The parts of a Markdown note: sections under headings, observations, relations, links and tags.

Read are wiki links (`[[Target#Heading|shown]]`), relative links, tags (`#tag`), and the lines of Basic Memory:
observations (`- [category] text #tag (context)`) and relations (`- type [[Target]] (context)`), and fields in the text
(`key:: value`), as Dataview and Logseq have them. Code is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote

MAX_SECTION = 4_000  # characters of one part of a section; a longer section is split between paragraphs
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_OBSERVATION = re.compile(r"\s*[-*+][ \t]+\[([^\[\]()]{2,64})\][ \t]+(\S.*)")
_RELATION = re.compile(r"\s*[-*+][ \t]+(?:([^\[\]]{1,64}?)[ \t]+)?\[\[([^\[\]]+)\]\][ \t]*(?:\((.*)\))?[ \t]*")
_FIELD = re.compile(r"\s*(?:[-*+][ \t]+)?([^\W\d_][\w -]{0,40})::[ \t]+(\S.*)")
_WIKI_LINK = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
_LINK = re.compile(r"(!?)\[[^\[\]\n]*\]\(<?([^()<>\s]+)>?(?:\s+\"[^\"]*\")?\)")
_CODE = re.compile(r"`[^`\n]*`")
_TAG = re.compile(r"(?:(?<=\s)|^)#([^\W\d_][\w/-]*)")
_CONTEXT = re.compile(r"\s*\(([^()]*)\)\s*$")
_TASK = re.compile(r"[ xX/>!?*-]")


@dataclass(slots=True)
class Section:
    """The text under a heading. `path` are the headings above it and its own, empty before the first.

    `embedded` are the names or paths of the files that it shows.
    """

    path: tuple[str, ...]
    text: str
    tags: tuple[str, ...] = ()
    embedded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """A line `- [category] text #tag (context)`."""

    category: str
    text: str
    tags: tuple[str, ...] = ()
    context: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link to another note. `relation` is its kind where the note says one; `is_path` where it names a file."""

    target: str
    relation: str | None = None
    context: str | None = None
    is_path: bool = False


@dataclass(slots=True)
class Parts:
    """What a note consists of. `title` is its first heading of the first level."""

    title: str | None = None
    sections: list[Section] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)


def read_markdown(text: str) -> Parts:
    """Return the parts of a note, without its front matter."""
    parts = Parts()
    path: list[tuple[int, str]] = []
    lines: list[str] = []
    fence: str | None = None

    def close() -> None:
        body = "\n".join(lines).strip()
        lines.clear()
        if body:
            headings = tuple(heading for _, heading in path)
            tags = tuple(dict.fromkeys(_TAG.findall(_CODE.sub("", body))))
            parts.sections += [Section(headings, chunk, tags, _embedded(chunk)) for chunk in _chunks(body)]

    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence is not None or mark is not None:
            lines.append(line)
            if fence is None and mark is not None:
                fence = mark.group(1)
            elif fence is not None and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = None
            continue
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            close()
            level, name = len(heading.group(1)), heading.group(2).strip()
            _add_links(name, parts)
            path = [one for one in path if one[0] < level]
            if level == 1 and parts.title is None and name:
                parts.title = name
            elif name:
                path.append((level, name))
            continue
        if not _special(line, parts):
            lines.append(line)
            _add_links(line, parts)
    close()
    return parts


def _special(line: str, parts: Parts) -> bool:
    """Add a line that is an observation, a field or a relation; return whether it is one."""
    observation = _OBSERVATION.fullmatch(line)
    if observation is not None and not _TASK.fullmatch(observation.group(1)):
        category, said = observation.group(1).strip(), observation.group(2)
        context = _CONTEXT.search(said)
        said = said[: context.start()] if context is not None else said
        tags = tuple(dict.fromkeys(_TAG.findall(said)))
        plain = " ".join(_TAG.sub("", said).split())
        if category and plain:
            parts.observations.append(
                Observation(category=category, text=plain, tags=tags, context=context.group(1) if context else None)
            )
            _add_links(said, parts)
            return True
    written = _FIELD.fullmatch(line)
    if written is not None:
        key, value = written.group(1).strip(), written.group(2).strip()
        target = wiki_target(value)
        if target is not None:
            parts.links.append(Link(target=target, relation=key))
        else:
            parts.observations.append(Observation(category=key, text=value))
            _add_links(value, parts)
        return True
    relation = _RELATION.fullmatch(line)
    if relation is None:
        return False
    named = _target(relation.group(2))
    if named is None:
        return False
    kind = (relation.group(1) or "").strip().strip("\"'*_:").strip()
    parts.links.append(Link(target=named, relation=kind or None, context=relation.group(3) or None))
    return True


def _add_links(line: str, parts: Parts) -> None:
    plain = _CODE.sub("", line)
    for embeds, target in _WIKI_LINK.findall(plain):
        name = _target(target)
        if name is not None and not (embeds and _is_file(name)):
            parts.links.append(Link(target=name))
    for embeds, target in _LINK.findall(plain):
        if not embeds and ":" not in target and not target.startswith("#"):
            parts.links.append(Link(target=unquote(re.split(r"[?#]", target, maxsplit=1)[0]), is_path=True))


def _embedded(text: str) -> tuple[str, ...]:
    """Return the names or paths of the files that a text embeds, each once."""
    plain = _CODE.sub("", text)
    names = [_target(target) for embeds, target in _WIKI_LINK.findall(plain) if embeds]
    paths = [unquote(target) for embeds, target in _LINK.findall(plain) if embeds and ":" not in target]
    return tuple(dict.fromkeys([*(name for name in names if name is not None and _is_file(name)), *paths]))


def _is_file(name: str) -> bool:
    """Return whether the target of an embedding is a file of another kind than a note."""
    return "." in name and not name.lower().endswith((".md", ".markdown"))


def _target(link: str) -> str | None:
    return re.split(r"[|#^]", link, maxsplit=1)[0].strip() or None


def wiki_target(value: str) -> str | None:
    """Return the target of a text that is one wiki link, as in front matter; None for another text."""
    match = _WIKI_LINK.fullmatch(value.strip())
    return _target(match.group(2)) if match is not None else None


def _chunks(text: str) -> Iterator[str]:
    """Yield a text in parts of at most MAX_SECTION characters, split between paragraphs where that is possible."""
    chunk = ""
    for paragraph in re.split(r"\n\s*\n", text):
        for start in range(0, len(paragraph), MAX_SECTION):
            piece = paragraph[start : start + MAX_SECTION]
            if chunk and len(chunk) + 2 + len(piece) > MAX_SECTION:
                yield chunk
                chunk = ""
            chunk = f"{chunk}\n\n{piece}" if chunk else piece
    if chunk.strip():
        yield chunk
