"""One sealed blob: a format byte, the number of its data key, a random nonce, AES-256-GCM ciphertext with its tag.

What it belongs to (tenant, id, purpose) is authenticated beside the content, so a blob that was moved to another row
does not open there.
"""

from __future__ import annotations

import os
import struct
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stratagraph.store.model.errors import StratagraphError

FORMAT = 1
NONCE_BYTES = 12
TAG_BYTES = 16
KEY_ID_AT = 2  # where SQL finds the key's four bytes, counted from 1
_HEADER = struct.Struct(">BI")
_BOUND = struct.Struct(">BIq16s")
_SHORTEST = _HEADER.size + NONCE_BYTES + TAG_BYTES


def seal(key: AESGCM, content: bytes, *, key_id: int, tenant: int, id_: UUID, purpose: str) -> bytes:
    nonce = os.urandom(NONCE_BYTES)
    sealed = key.encrypt(nonce, content, _bound(key_id, tenant, id_, purpose))
    return _HEADER.pack(FORMAT, key_id) + nonce + sealed


def open_sealed(key: AESGCM, blob: bytes, *, tenant: int, id_: UUID, purpose: str) -> bytes:
    """Raises StratagraphError where the blob was changed, cut, or sealed for another row or by another key."""
    key_id = key_id_of(blob, id_=id_)
    start = _HEADER.size + NONCE_BYTES
    try:
        return key.decrypt(blob[_HEADER.size : start], blob[start:], _bound(key_id, tenant, id_, purpose))
    except InvalidTag as error:
        raise StratagraphError(
            f"The sealed content of {id_} does not open: it was changed, or sealed for another row or by another key."
        ) from error


def key_id_of(blob: bytes, *, id_: UUID) -> int:
    """Which data key of its tenant sealed the blob."""
    if len(blob) < _SHORTEST or blob[0] != FORMAT:
        raise StratagraphError(
            f"The sealed content of {id_} is not an envelope that this version of Stratagraph knows."
        )
    return int(_HEADER.unpack_from(blob)[1])


def key_mark(key_id: int) -> bytes:
    """The four bytes at KEY_ID_AT of everything that this key sealed."""
    return key_id.to_bytes(4, "big")


def _bound(key_id: int, tenant: int, id_: UUID, purpose: str) -> bytes:
    return _BOUND.pack(FORMAT, key_id, tenant, id_.bytes) + purpose.encode()
