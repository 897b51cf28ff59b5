"""Which changes a reader wants. A filter leaves changes out; it never adds any."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from uuid import UUID

from stratagraph.memory.changes.change import Change, ChangeKind
from stratagraph.store.keys.callers import Tenant
from stratagraph.store.model.canonical import check_json
from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.records.episodes import thread_key

MAX_NAMED = 100  # values of one field of a filter


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFilter:
    """Which changes to tell of; an empty field does not restrict them.

    `types`, `scopes`, `tags` (all of them) and `thread` restrict records, and relations by their source. Of a record
    that is gone only the scope is compared. `ids` are records, either end of a relation, or runs.
    """

    kinds: frozenset[ChangeKind] = frozenset()
    types: frozenset[MemoryType] = frozenset()
    scopes: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    ids: frozenset[UUID] = field(default_factory=frozenset)
    thread: str | None = None

    def check(self) -> None:
        """Raise InvalidInput, which names the field, for too many values or a text that cannot be stored."""
        named: tuple[tuple[str, Collection[object]], ...] = (
            ("kinds", self.kinds),
            ("types", self.types),
            ("scopes", self.scopes),
            ("tags", self.tags),
            ("ids", self.ids),
        )
        for name, values in named:
            if len(values) > MAX_NAMED:
                raise InvalidInput(
                    f"filter.{name}: {len(values)} values; give at most {MAX_NAMED}, or follow more and leave some out",
                    path=["filter", name],
                )
        check_json(sorted(self.scopes), path=["filter", "scopes"])
        check_json(sorted(self.tags), path=["filter", "tags"])
        check_json(self.thread, path=["filter", "threadId"])

    def admits(self, tenant: Tenant, change: Change) -> bool:
        """Return whether the reader wants this change, of its tenant."""
        if self.kinds and change.kind not in self.kinds:
            return False
        if self.ids and change.subject not in self.ids and change.target not in self.ids:
            return False
        if change.record is not None:
            return self._admits_record(tenant, change.record, change.threads)
        if change.kind is ChangeKind.RUN:
            return not (self.types or self.tags or self.thread) and self._admits_scope(change.scope)
        return self._admits_scope(change.scope)

    def _admits_record(self, tenant: Tenant, record: MemoryRecord, threads: frozenset[bytes]) -> bool:
        return (
            (not self.types or record.type in self.types)
            and self._admits_scope(record.scope)
            and self.tags <= frozenset(record.tags)
            and (self.thread is None or thread_key(tenant, self.thread) in threads)
        )

    def _admits_scope(self, scope: str | None) -> bool:
        return not self.scopes or scope in self.scopes
