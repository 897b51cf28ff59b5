"""The envelope of sealed content: a format byte, the data key's number, a nonce, AES-256-GCM ciphertext and tag.

The tenant, id and purpose of the row are authenticated with the content, so that a blob copied to another row does not
open there.
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
KEY_ID_AT = 2  # position of the data key's number in a blob, counted from 1 as in SQL; it has 4 bytes
_HEADER = struct.Struct(">BI")
_ASSOCIATED_DATA = struct.Struct(">BIq16s")
_SHORTEST = _HEADER.size + NONCE_BYTES + TAG_BYTES


def seal(key: AESGCM, content: bytes, *, key_id: int, tenant: int, id_: UUID, purpose: str) -> bytes:
    """Return the content sealed for one row. `key_id` is the number of the data key within its tenant."""
    nonce = os.urandom(NONCE_BYTES)
    sealed = key.encrypt(nonce, content, _associated_data(key_id, tenant, id_, purpose))
    return _HEADER.pack(FORMAT, key_id) + nonce + sealed


def open_sealed(key: AESGCM, blob: bytes, *, tenant: int, id_: UUID, purpose: str) -> bytes:
    """Return the content of a blob that was sealed for this row and purpose, decrypted with `key`.

    Raises StratagraphError if the blob was changed, or sealed for another row, purpose or key.
    """
    key_id = key_id_of(blob, id_=id_)
    start = _HEADER.size + NONCE_BYTES
    try:
        return key.decrypt(blob[_HEADER.size : start], blob[start:], _associated_data(key_id, tenant, id_, purpose))
    except InvalidTag as error:
        raise StratagraphError(
            f"The sealed content of {id_} does not open: it was changed, or sealed for another row or with another key."
            " Restore the row from a backup."
        ) from error


def key_id_of(blob: bytes, *, id_: UUID) -> int:
    """Return the number of the data key that sealed the blob. Raises StratagraphError for an unknown format."""
    if len(blob) < _SHORTEST or blob[0] != FORMAT:
        raise StratagraphError(
            f"The sealed content of {id_} is not in a format that this version of Stratagraph knows. Run the version"
            " that wrote it, or restore the row from a backup."
        )
    return int(_HEADER.unpack_from(blob)[1])


def key_mark(key_id: int) -> bytes:
    """Return the four bytes by which all blobs sealed with this data key are found: they have them at KEY_ID_AT."""
    return key_id.to_bytes(4, "big")


def _associated_data(key_id: int, tenant: int, id_: UUID, purpose: str) -> bytes:
    return _ASSOCIATED_DATA.pack(FORMAT, key_id, tenant, id_.bytes) + purpose.encode()
