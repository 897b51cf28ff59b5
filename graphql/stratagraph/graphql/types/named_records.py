"""The record that an id names, for fields of the types of which records themselves are made (`Relation`, `Source`)."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from strawberry.types.lazy_type import LazyType

from stratagraph.graphql.context import Context, Info
from stratagraph.graphql.past import AsOf
from stratagraph.store.records.past import Moment

# These types cannot import that of records, which is made of them.
_RECORD: LazyType[Any, Any] = LazyType("MemoryRecord", "stratagraph.graphql.types.records")
RECORD = _RECORD | None


async def named_record(info: Info, id_: UUID, as_of: AsOf | None, context: Context | None) -> Any:
    """Return the record `id_` as the caller may see it, now or as of an instant; None where it may see none."""
    trusted = context or info.context
    if as_of is None:
        found = await trusted.records.load(id_)
    else:
        found = await as_of.loaders.records.load(Moment(id_, as_of.at))
    return _RECORD.resolve_type().of(found, as_of, context) if found is not None else None
