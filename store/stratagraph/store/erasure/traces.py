"""References to erased records in the contents of other records: finding and removing them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.postgres.queries import fetch
from stratagraph.store.records.handles import handle_key

_TYPES_WITH_HANDLES = (MemoryType.EPISODIC, MemoryType.WORKING, MemoryType.COMPETENCE, MemoryType.PLAN_GRAPH)


@dataclass(frozen=True, slots=True)
class Traces:
    """Everything by which other records may refer to the erased ones.

    `ids` has the ids of the records, and `candidate:<id>` for their captures; `handles` has the keys of their handles.
    """

    tenant: Tenant
    ids: frozenset[str]
    handles: frozenset[bytes]

    def names(self, ref: object) -> bool:
        """Return whether `ref` is a text that refers to an erased record, by id, capture or handle."""
        if not isinstance(ref, str):
            return False
        if ref.lower() in self.ids or ref in self.ids:
            return True
        if not self.handles:
            return False
        return any(handle_key(self.tenant, kind, ref) in self.handles for kind in _TYPES_WITH_HANDLES)

    def strip(self, content: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return a copy of the content without references to erased records, or None if there are none to remove.

        Removes sources from `provenance`, `evidence` and `revision` entries from `payload`, and mentions and
        references from `interpretation`.
        """
        stripped = dict(content)
        payload, interpretation = content["payload"], content["interpretation"]
        if isinstance(content["provenance"], dict):
            stripped["provenance"] = self._without(content["provenance"], "sources", ("ref",))
        if isinstance(payload, dict):
            stripped["payload"] = self._without(payload, "evidence", ("source_id", "ref"))
            revision = payload.get("revision")
            if isinstance(revision, dict):
                kept = {key: value for key, value in revision.items() if not self.names(value)}
                stripped["payload"] = {**stripped["payload"], "revision": kept}
        if isinstance(interpretation, dict):
            interpretation = self._without(interpretation, "mentions", ("entity_id",))
            stripped["interpretation"] = self._without(interpretation, "references", ("record_id", "ref"))
        return stripped if stripped != dict(content) else None

    def _without(self, part: Mapping[str, Any], key: str, fields: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(part.get(key), list):
            return dict(part)
        kept = [
            item
            for item in part[key]
            if not (isinstance(item, dict) and any(self.names(item.get(name)) for name in fields))
        ]
        return {**part, key: kept}


async def find_traces(connection: AsyncConnection, tenant: Tenant, ids: Collection[UUID]) -> Traces:
    """Return everything by which other records may refer to the records `ids`, which must still exist.

    A handle that a record besides `ids` has too still refers to that one, so it is left out.
    """
    rows = await fetch(connection, "fetch_traces", tenant=tenant.id, ids=list(ids))
    named = {str(id_) for id_ in ids} | {f"candidate:{row['candidate']}" for row in rows if row["candidate"]}
    return Traces(tenant, frozenset(named), frozenset(bytes(row["handle"]) for row in rows if row["handle"]))
