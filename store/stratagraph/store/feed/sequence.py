"""Sequence tokens: what a writer gets, and a reader may ask the mirror to have reached.

A token is a transaction id with the incarnation of the database it belongs to, so that one from before a restore
is not taken for one of now (design decision 27).
"""

from __future__ import annotations

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.feed.snapshots import incarnation
from stratagraph.store.model.errors import InvalidInput


class Sequences:
    """Makes and reads tokens of one database, whose incarnation is asked for once."""

    def __init__(self) -> None:
        self._incarnation: str | None = None

    async def incarnation(self, connection: AsyncConnection) -> str:
        if self._incarnation is None:
            self._incarnation = await incarnation(connection)
        return self._incarnation

    async def current(self, connection: AsyncConnection) -> str:
        """The token of this transaction."""
        xid = (await connection.execute(text("SELECT pg_current_xact_id()::text"))).scalar_one()
        return await self.token(connection, xid)

    async def token(self, connection: AsyncConnection, xid: str) -> str:
        return f"{await self.incarnation(connection)}:{xid}"

    async def parse(self, connection: AsyncConnection, token: str, *, path: list[str]) -> str:
        """The transaction id. Raises InvalidInput for a token that is malformed, foreign, or not yet given out."""
        own, separator, xid = token.rpartition(":")
        if not separator or not xid.isdecimal() or len(xid) > 20:
            raise InvalidInput(
                f"{path[0]}: {token!r} is no sequence token; give `receipt.sequence` of a capture", path=path
            )
        if own != await self.incarnation(connection):
            raise InvalidInput(
                f"{path[0]}: this token is of another database or of before a restore; leave it out", path=path
            )
        known = await connection.execute(
            text("SELECT CAST(:xid AS xid8) < pg_snapshot_xmax(pg_current_snapshot())"), {"xid": xid}
        )
        if not known.scalar_one():
            raise InvalidInput(f"{path[0]}: this token lies in the future", path=path)
        return xid
