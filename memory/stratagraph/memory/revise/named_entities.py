"""Entities that facts name cannot be taken away alone, because their facts would be about nothing."""

from __future__ import annotations

from stratagraph.store.keys.callers import Caller
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.errors import DeletionForbidden, Forbidden, InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.trust import UNSCOPED
from stratagraph.store.postgres.database import Connection
from stratagraph.store.records.keyed_facts import is_named

_INSTEAD = (
    "because current facts name it as their subject or object; merge it into another entity, or erase the entity,"
    " with its facts"
)


async def refuse_named_entity(connection: Connection, caller: Caller, record: MemoryRecord, *, verb: str) -> None:
    """Raise an error if the locked record is an entity that a current fact names, or that a hidden one may name.

    Where a fact that the caller may read names it, the error is DeletionForbidden for the verb "deleted", and
    InvalidInput for others. Otherwise only a caller who may see every fact that can name the entity may take it away:
    of an entity in a scope, the facts of that scope, and of an unscoped one all facts. Any other caller gets Forbidden,
    whether there are such facts or not, so that the answer tells nothing of them.
    """
    if record.type is not MemoryType.ENTITY:
        return
    if await is_named(connection, caller, record.id):
        message = f"recordId: entity {record.id} cannot be {verb}, {_INSTEAD}"
        if verb == "deleted":
            raise DeletionForbidden(message, path=["recordId"])
        raise InvalidInput(message, path=["recordId"])
    is_everywhere = record.scope == UNSCOPED
    if caller.ceiling is not Sensitivity.HYPER or (is_everywhere and caller.scopes is not None):
        needed = "the ceiling hyper and all scopes" if is_everywhere else "the ceiling hyper"
        raise Forbidden(
            f"recordId: entity {record.id} can only be {verb} by a credential with {needed}, because facts that this"
            " one may not see could name it; merge it into another entity instead",
            path=["recordId"],
        )
