"""Front matter of a note: the YAML or TOML block at its beginning."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, date, datetime, time, tzinfo
from typing import Any

import yaml

from stratagraph.memory.imports.fields import read_time
from stratagraph.store.model.errors import InvalidInput

MAX_FRONT_MATTER = 64 * 1024  # characters
_BLOCK = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?)(?:^|\n)(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the fields of the front matter, and the rest of the note. Raises InvalidInput if it is malformed."""
    match = _BLOCK.match(text)
    if match is None:
        return {}, text
    mark, block = match.group(1), match.group(2)
    if len(block) > MAX_FRONT_MATTER:
        raise InvalidInput(f"front matter: has {len(block)} characters; at most {MAX_FRONT_MATTER} are read")
    try:
        values = yaml.safe_load(block) if mark == "---" else tomllib.loads(block)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        said = " ".join(str(error).split())[:200]
        raise InvalidInput(f"front matter: is no {'YAML' if mark == '---' else 'TOML'}: {said}") from error
    if values is None:
        return {}, text[match.end() :]
    if not isinstance(values, dict):
        if mark == "---":
            return {}, text  # a rule at the beginning of a note
        raise InvalidInput("front matter: must be fields with values")
    return {str(name): value for name, value in values.items()}, text[match.end() :]


def time_of(value: Any, path: str, zone: tzinfo | None) -> datetime | None:
    """Return a time of the front matter. A day without a time of day is its beginning, in UTC without a zone."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value.strip())
        except ValueError:
            return read_time(value.strip(), path, zone)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time(), zone or UTC)
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else read_time(value.isoformat(), path, zone)
    return read_time(value, path, zone)
