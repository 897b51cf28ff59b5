"""Identifiers: UUIDv7, made by the application so that a record knows its id before it is written."""

from __future__ import annotations

from uuid import UUID

from uuid_utils.compat import uuid7

from stratagraph.store.model.errors import InvalidInput


def new_id() -> UUID:
    return uuid7()


def parse_id(text: str, *, path: list[str]) -> UUID:
    """Raises InvalidInput naming `path` where `text` is no UUID."""
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput(f"{'.'.join(path)}: {text!r} is not a UUID", path=path) from None
