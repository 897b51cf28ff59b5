"""Front matter of a note: the YAML or TOML block at its beginning."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

import yaml

MAX_FRONT_MATTER = 64 * 1024  # characters
_BLOCK = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)(?:^|\n)(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NoteText:
    """A note: the fields of its front matter, and its text. `problem` is why the front matter cannot be read."""

    fields: dict[str, Any]
    body: str
    problem: str | None = None


def split_front_matter(text: str) -> NoteText:
    """Return the fields of the front matter, and the rest of the note."""
    match = _BLOCK.match(text)
    if match is None:
        return NoteText({}, text)
    mark, block, body = match.group(1), match.group(2), text[match.end() :]
    if len(block) > MAX_FRONT_MATTER:
        return NoteText({}, body, f"has {len(block)} characters; at most {MAX_FRONT_MATTER} are read")
    try:
        values = yaml.safe_load(block) if mark == "---" else tomllib.loads(block)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return NoteText({}, body, f"is no {'YAML' if mark == '---' else 'TOML'}: {_said(error)}")
    if values is None:
        return NoteText({}, body)
    if not isinstance(values, dict):
        return NoteText({}, text)  # a rule at the beginning of a note
    return NoteText({str(name): value for name, value in values.items()}, body)


def _said(error: Exception) -> str:
    """Return what a parser says of a block, with the line of the note where it can tell that."""
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    said = f"{problem} (line {mark.line + 2})" if problem and mark is not None else str(error)
    return " ".join(said.split())[:200]
