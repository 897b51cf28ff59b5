"""Identifiers: UUIDv7 of rows, made by the application before the row is written, and names of lease holders."""

from __future__ import annotations

import os
import secrets
import socket
from datetime import UTC, datetime
from uuid import UUID

from uuid_utils.compat import uuid7

from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput


def new_id() -> UUID:
    """Return a new UUIDv7. Ids sort by the millisecond at which they were made."""
    return uuid7()


def made_at(id_: UUID) -> datetime | None:
    """Return when a UUIDv7 was made, by the clock of the machine that made it; None for an id of another version."""
    return datetime.fromtimestamp((id_.int >> 80) / 1_000, UTC) if id_.version == 7 else None


def new_owner() -> str:
    """Return a name for a holder of leases: host and process, for people, and a random part that makes it unique."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def parse_id(text: str, *, path: list[str]) -> UUID:
    """Return the UUID that `text` spells. Raises InvalidInput, naming `path`, if it is not a UUID."""
    try:
        return UUID(text)
    except ValueError:
        raise InvalidInput(
            f"{'.'.join(path)}: {shown(text)} is not a UUID; write one such as 01980d6e-6c1f-7c11-8d5e-2f9a3b4c5d6e",
            path=path,
        ) from None
