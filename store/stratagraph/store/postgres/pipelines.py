"""Several named statements in one round trip, by psycopg's pipeline mode."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.postgres.driver import send_together
from stratagraph.store.postgres.queries import sending


@dataclass(frozen=True, slots=True)
class Statement:
    """A named statement with its parameters."""

    name: str
    parameters: Mapping[str, Any]


async def fetch_together(connection: AsyncConnection, *statements: Statement) -> list[list[dict[str, Any]]]:
    """Run the statements in their order, in one round trip, and return the rows of each.

    None of them can depend on the rows of another. Raises KeyError for an unknown name.
    """
    return await send_together(connection, [sending(one.name, one.parameters) for one in statements])


def uuid_array(ids: Iterable[UUID]) -> str:
    """Return ids as the text of a uuid[], which is sent in a third of the time of a list of UUIDs.

    >>> uuid_array([UUID(int=1), UUID(int=2)])
    '{00000000000000000000000000000001,00000000000000000000000000000002}'
    """
    return "{" + ",".join(["%032x" % id_.int for id_ in ids]) + "}"  # noqa: UP031 - a third faster than an f-string
