"""Options that several commands share, and the reading of their values."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import orjson
import typer

from stratagraph.store.model.error_values import json_type, shown
from stratagraph.store.model.errors import InvalidInput

Tenant = Annotated[str, typer.Option("--tenant", help="Name of the tenant whose records are read or changed.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and no progress bar.")]
RecordId = Annotated[
    str, typer.Argument(metavar="RECORD_ID", help="Id of the record, a UUID as `ask --json` prints it.")
]
Why = Annotated[str, typer.Option("--why", help="The reason; the audit log stores it.")]


def check_choice(command: str, what: str, ids: Sequence[UUID] | None, *, all_: bool) -> None:
    """Raise InvalidInput unless `command`, which acts on `what`, is given either ids or --all."""
    if bool(ids) == all_:
        raise InvalidInput(
            f"{command}: give either the ids of {what}, or --all for all of them"
            f" ({'both' if ids else 'neither'} given)",
            path=["ids"],
        )


def text_given(value: str, name: str) -> str:
    """Return a value given as text, as @FILE, or as - for standard input. `name` is the option, for errors."""
    try:
        return sys.stdin.read() if value == "-" else Path(value[1:]).read_text() if value.startswith("@") else value
    except OSError as error:
        raise InvalidInput(
            f"{name}: {value[1:]} cannot be read: {error.strerror}; name a readable file after the @", path=[name]
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name}: not text in UTF-8; give a text file after the @", path=[name]) from error


def object_given(value: str, name: str) -> dict[str, Any]:
    """Return a JSON object, given as for `text_given`."""
    found = _json_given(value, name, "an object")
    if not isinstance(found, dict):
        raise InvalidInput(f"{name}: must be a JSON object, not {json_type(found)}", path=[name])
    return found


def list_given(value: str, name: str) -> list[Any]:
    """Return a JSON list, given as for `text_given`."""
    found = _json_given(value, name, "a list")
    if not isinstance(found, list):
        raise InvalidInput(f"{name}: must be a JSON list, not {json_type(found)}", path=[name])
    return found


def _json_given(value: str, name: str, what: str) -> Any:
    try:
        return orjson.loads(text_given(value, name))
    except orjson.JSONDecodeError as error:
        raise InvalidInput(
            f"{name}: not valid JSON: {error}; give {what} as text, @FILE, or - for standard input", path=[name]
        ) from error


def instant_given(value: str, name: str) -> str:
    """Return an instant as RFC 3339, in UTC where it has no offset. Raises InvalidInput if it is none."""
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise InvalidInput(
            f"{name}: {shown(value)} is not an instant; write one such as 2026-11-21T12:00:00Z", path=[name]
        ) from None
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).isoformat()
