"""Entities that facts name cannot be taken away alone, because their facts would be about nothing."""

from __future__ import annotations

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import DeletionForbidden, InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.rekeying import is_named

_INSTEAD = (
    "because current facts name it as their subject or object; merge it into another entity, or erase it by entity,"
    " with its facts"
)


async def refuse_named_entity(connection: Connection, tenant: Tenant, record: MemoryRecord, *, verb: str) -> None:
    """Raise an error if the locked record is an entity that a current fact names.

    The error is DeletionForbidden for the verb "deleted", and InvalidInput for others. It does not count the facts,
    which the caller may not be allowed to see.
    """
    if record.type is not MemoryType.ENTITY or not await is_named(connection, tenant, record.id):
        return
    message = f"recordId: entity {record.id} cannot be {verb}, {_INSTEAD}"
    if verb == "deleted":
        raise DeletionForbidden(message, path=["recordId"])
    raise InvalidInput(message, path=["recordId"])
