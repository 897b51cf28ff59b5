"""The hashes of a receipt of an erasure, which its holder can compute again from the receipt and the ids.

docs/erasing.md has the same as a script that needs nothing of Stratagraph.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

SALT_BYTES = 32
NO_HASHES = bytes(32)  # the digest of no hashes
_MODULUS = 1 << 256


def new_salt() -> bytes:
    """Return a random salt for one receipt. Without it, nobody can test a guessed id or name against the hashes."""
    return secrets.token_bytes(SALT_BYTES)


def receipt_hash(salt: bytes, target: str) -> bytes:
    """Return the hash that stands for an id or a name in the receipt with this salt: SHA-256 of both, in this order."""
    return hashlib.sha256(salt + target.encode()).digest()


def digest_with(digest: bytes, hashes: Iterable[bytes]) -> bytes:
    """Return the digest after adding `hashes`: the sum of all hashes, as unsigned big-endian numbers, modulo 2^256.

    A sum does not depend on the order, and an erasure in batches does not keep the hashes of all its records.
    """
    total = int.from_bytes(digest) + sum(int.from_bytes(one) for one in hashes)
    return (total % _MODULUS).to_bytes(len(NO_HASHES))
