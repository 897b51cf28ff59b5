"""Positions in the change log as callers keep them: opaque texts that tell nothing of what others write.

Snapshots and numbers of the log are shared by all tenants, so a position is encrypted with a key of its tenant, and
never twice as the same text.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
import struct
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from stratagraph.store.feed.change_log import Place
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput

_FORM = struct.Struct(">Q8sQQ")  # snapshot, its nonce, the end of the window or 0, the last number read
_NONCE_BYTES = 12
_LENGTH = -(-4 * (_NONCE_BYTES + _FORM.size + 16) // 3)  # characters of a position, in base64 without padding


def seal_place(tenant: Tenant, place: Place) -> str:
    """Return the position of `place` for callers of the tenant."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    plain = _FORM.pack(place.snapshot, place.nonce, place.window or 0, place.seq)
    return base64.urlsafe_b64encode(nonce + _cipher(tenant.index_key).encrypt(nonce, plain, None)).decode().rstrip("=")


def open_place(tenant: Tenant, position: str) -> Place:
    """Return the place of a position.

    Raises InvalidInput, with the path `after`, for a text that is not a position of this tenant.
    """
    try:
        if len(position) != _LENGTH:
            raise ValueError
        sealed = base64.b64decode(position + "=" * (-_LENGTH % 4), altchars=b"-_", validate=True)
        plain = _cipher(tenant.index_key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
    except (ValueError, binascii.Error, InvalidTag):
        raise InvalidInput(
            f"after: {shown(position)} is not a position of this tenant's changes; give `position` of a change, or"
            " `pageInfo.endCursor` of `changes`. Without one, read the present state and follow from `changes` without"
            " `after`.",
            path=["after"],
        ) from None
    snapshot, nonce, window, seq = _FORM.unpack(plain)
    return Place(snapshot, nonce, window or None, seq)


@lru_cache(maxsize=64)
def _cipher(index_key: bytes) -> AESGCM:
    return AESGCM(hmac.digest(index_key, b"position of changes", "sha256"))
