"""Sequence tokens, which a writer receives and a reader may require the mirror to have reached.

A token is a transaction id preceded by the incarnation of its database, so a token from before a restore is refused
(docs/architecture.md, The change feed).
"""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.snapshots import incarnation
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput


class Sequences:
    """Makes and parses the sequence tokens of one database. Its incarnation is read once and cached."""

    def __init__(self) -> None:
        self._incarnation: str | None = None

    async def incarnation(self, connection: AsyncConnection) -> str:
        """Return the incarnation of the database."""
        if self._incarnation is None:
            self._incarnation = await incarnation(connection)
        return self._incarnation

    async def current(self, connection: AsyncConnection) -> str:
        """Return the sequence token (a receipt's `sequence`) of the transaction open on `connection`."""
        xid = (await connection.execute(text("SELECT pg_current_xact_id()::text"))).scalar_one()
        return await self.token(connection, xid)

    async def token(self, connection: AsyncConnection, xid: str) -> str:
        """Return the sequence token of the transaction with the id `xid`."""
        return f"{await self.incarnation(connection)}:{xid}"

    async def parse(self, connection: AsyncConnection, token: str, *, path: list[str]) -> str:
        """Return the transaction id in a sequence token.

        Raises InvalidInput, naming `path`, for a token that is malformed, of another database or incarnation, or not
        yet issued.
        """
        own, separator, xid = token.rpartition(":")
        if not separator or not xid.isdecimal() or len(xid) > 20:
            raise InvalidInput(
                f"{path[0]}: {shown(token)} is not a sequence token; pass the `receipt.sequence` of a capture",
                path=path,
            )
        if own != await self.incarnation(connection):
            raise InvalidInput(
                f"{path[0]}: the token {shown(token)} belongs to another database or dates from before a restore;"
                " leave it out",
                path=path,
            )
        known = await connection.execute(
            text("SELECT CAST(:xid AS xid8) < pg_snapshot_xmax(pg_current_snapshot())"), {"xid": xid}
        )
        if not known.scalar_one():
            raise InvalidInput(
                f"{path[0]}: the token {shown(token)} has not been issued yet; pass a `receipt.sequence` unchanged, or"
                " leave it out",
                path=path,
            )
        return xid
