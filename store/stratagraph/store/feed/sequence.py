"""Sequence tokens, which a writer receives and a reader may require the mirror to have reached.

A token is a transaction id, encrypted with a key of its tenant and of the incarnation of its database. So it tells
nobody how much others write, and one from before a restore is refused (docs/architecture.md, The change feed).
"""

from __future__ import annotations

import base64
import binascii
import hmac

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.snapshots import incarnation
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.postgres.database import transaction_id

_ID_BYTES = 8
_REST = bytes(8)  # of the block; a token of another tenant or incarnation decrypts to something else
_LENGTH = 22  # characters of a token: 16 bytes in base64 without padding
_SEPARATOR = "."  # of the tokens of several writes
_MOST = 32  # tokens at a time


class Sequences:
    """Makes and parses the sequence tokens of one database. Its incarnation is read once and cached."""

    def __init__(self) -> None:
        self._incarnation: str | None = None

    async def current(self, connection: AsyncConnection, tenant: Tenant) -> str:
        """Return the sequence token (a receipt's `sequence`) of the writing transaction on `connection`."""
        return await self.token(connection, tenant, await transaction_id(connection))

    async def token(self, connection: AsyncConnection, tenant: Tenant, xid: str) -> str:
        """Return the tenant's sequence token of the transaction with the id `xid`."""
        encryptor = (await self._cipher(connection, tenant)).encryptor()
        block = encryptor.update(int(xid).to_bytes(_ID_BYTES, "big") + _REST)
        return base64.urlsafe_b64encode(block).decode().rstrip("=")

    async def parse(
        self, connection: AsyncConnection, tenant: Tenant, given: str, *, path: list[str]
    ) -> tuple[str, ...]:
        """Return the transaction ids in one or several sequence tokens, joined by points.

        Several are needed after writes that ran at the same time: neither of two such transactions was over before
        the other one began, so a snapshot may have either without the other.

        Raises InvalidInput, naming `path`, for a token that is malformed, of another tenant, database or incarnation,
        or not yet issued, and for more than 32.
        """
        tokens = given.split(_SEPARATOR)
        if len(tokens) > _MOST:
            raise InvalidInput(
                f"{path[0]}: {len(tokens)} sequence tokens were given, and at most {_MOST} can be: leave out those of"
                " writes that had ended before others of them began",
                path=path,
            )
        decryptor = (await self._cipher(connection, tenant)).decryptor()
        xids = [self._xid(decryptor, token, path) for token in tokens]
        newest = max(xids)
        known = await connection.execute(
            text("SELECT CAST(:xid AS xid8) < pg_snapshot_xmax(pg_current_snapshot())"), {"xid": str(newest)}
        )
        if not known.scalar_one():
            raise InvalidInput(
                f"{path[0]}: the token {shown(tokens[xids.index(newest)])} has not been issued yet; leave it out",
                path=path,
            )
        return tuple(map(str, xids))

    def _xid(self, decryptor: CipherContext, token: str, path: list[str]) -> int:
        block = _decoded(token)
        if block is not None:
            block = decryptor.update(block)
        if block is None or not block.endswith(_REST):
            raise InvalidInput(
                f"{path[0]}: {shown(token)} is not a sequence token of this database: pass the `receipt.sequence` of a"
                " write unchanged, and leave out one that another tenant received or that dates from before a restore",
                path=path,
            )
        return int.from_bytes(block[:_ID_BYTES], "big")

    async def _cipher(self, connection: AsyncConnection, tenant: Tenant) -> Cipher[modes.ECB]:
        if self._incarnation is None:
            self._incarnation = await incarnation(connection)
        key = hmac.digest(tenant.index_key, f"sequence {self._incarnation}".encode(), "sha256")
        return Cipher(algorithms.AES(key), modes.ECB())


def _decoded(token: str) -> bytes | None:
    """Return the 16 bytes of a token; None if it is malformed."""
    if len(token) != _LENGTH:
        return None
    try:
        return base64.b64decode(token + "==", altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
