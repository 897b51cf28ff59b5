"""Identifiers: UUIDv7, made by the application, so that an id is known before its row is written."""

from __future__ import annotations

from uuid import UUID

from uuid_utils.compat import uuid7

from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput


def new_id() -> UUID:
    """Return a new UUIDv7. Ids sort by the millisecond at which they were made."""
    return uuid7()


def parse_id(text: str, *, path: list[str]) -> UUID:
    """Return the UUID that `text` spells. Raises InvalidInput, naming `path`, if it is not a UUID."""
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput(
            f"{'.'.join(path)}: {shown(text)} is not a UUID; write one such as 01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6e",
            path=path,
        ) from None
