"""What operations do to the memory, in the words of OpenTelemetry's conventions for generative AI, for traces."""

from __future__ import annotations

from collections.abc import Iterable

SEARCH, CREATE, UPDATE, UPSERT, DELETE = (
    *("search_memory", "create_memory", "update_memory", "upsert_memory"),
    "delete_memory",
)
# Fields that read or change no records, but the service, its settings and its queues.
_OTHER = frozenset(
    {
        *("health", "metrics", "predicates", "setPredicate", "failedCaptures", "dropCapture", "consolidationRuns"),
        *("learnAgain", "introspection"),
    }
)
# A capture may become a new record or a part of one; the caller does not choose.
_MUTATIONS = {
    "captureMemory": UPSERT,
    "captureMemories": UPSERT,
    "retryCapture": UPSERT,
    "learnLesson": UPSERT,
    "fork": CREATE,
    "deleteRecord": DELETE,
    "erase": DELETE,
}


def memory_operations(kind: str, fields: Iterable[str]) -> list[str]:
    """Return the names of what an operation with these root fields does, sorted.

    >>> memory_operations("query", ["record", "retrieveGraph"]), memory_operations("mutation", ["fork", "pin"])
    (['search_memory'], ['create_memory', 'update_memory'])
    """
    return sorted({name for field in fields if (name := _of_field(kind, field)) is not None})


def _of_field(kind: str, field: str) -> str | None:
    if field in _OTHER:
        return None
    return SEARCH if kind != "mutation" else _MUTATIONS.get(field, UPDATE)
