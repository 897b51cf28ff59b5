"""Artifacts and the stored objects that contain their bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

GRACE = timedelta(days=1)  # after its upload, an artifact is kept for this time without a record that refers to it
_URI = re.compile(r"sha256:([0-9a-fA-F]{64})\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """The identity of one object in the object store: tenant number, hash of its plain bytes, and an id of its own."""

    tenant: int
    sha256: bytes
    id: UUID

    @property
    def key(self) -> str:
        """The key under which the object store has the object."""
        digest = self.sha256.hex()
        return f"{self.tenant}/{digest[:2]}/{digest}.{self.id.hex}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """An artifact and what one caller may know of it.

    `media_type` was given by the caller, or by a record that the caller may read in full. `sealed` is the key that
    encrypts the object, itself sealed by the tenant's data key; if it is None, the object is not encrypted.
    """

    stored: StoredObject
    size_bytes: int
    media_type: str | None
    sealed: bytes | None


def uri_of(sha256: bytes) -> str:
    """Return the URI of the artifact with this hash: `sha256:` and 64 hexadecimal digits."""
    return f"sha256:{sha256.hex()}"


def hash_in(text: str) -> bytes | None:
    """Return the hash that an artifact's URI names, or None if `text` has another form."""
    match = _URI.match(text)
    return bytes.fromhex(match.group(1)) if match else None
