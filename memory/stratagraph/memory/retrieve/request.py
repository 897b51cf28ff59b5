"""A retrieval request, and its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stratagraph.memory.requests.bounds import check_between
from stratagraph.memory.retrieve.rendering import CitationStyle
from stratagraph.store.model.canonical import check_json, has_more_values
from stratagraph.store.model.enums import MemoryType, Sensitivity
from stratagraph.store.model.error_values import json_type
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.problems import Problems
from stratagraph.store.model.unicode_forms import normalised

MAX_DESCRIPTOR = 20_000  # characters
MAX_THREADS = 20  # that are left out of one answer
MAX_CONTEXT = 1_000  # values of `context`, those of lists and objects in it included
_BOUNDS = {
    "root_limit": ("rootLimit", 1, 100),
    "node_limit": ("nodeLimit", 1, 1_000),
    "edge_limit": ("edgeLimit", 0, 5_000),
    "max_hops": ("maxHops", 0, 6),
    "min_salience": ("minSalience", 0, 1),
    "min_strength": ("minStrength", 0, 1),
    "token_budget": ("tokenBudget", 1, 1_000_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrieveRequest:
    """A task in words, and limits on the answer.

    No `memory_types` means all types. `hop_types` are the types of the records that are reached at each hop from the
    roots, from the first; all at a hop that has none. Records below `min_salience` are left out, and so are roots below
    `min_strength`. Without that, the answer is empty if not even the best root is strong enough. What was said in the
    threads `exclude_thread_ids` is neither found nor counted as a neighbour. `context` maps keys of conditions to their
    present values, by which competences and plans are chosen. With `token_budget`, the answer is also rendered as text
    of at most so many tokens, whose lines cite their records in the `citation_style`.

    `scopes` and `max_sensitivity` can only narrow the caller's access. `as_of` asks for the answer of a past instant,
    among records that the caller may also see now. With `valid_at`, facts are those that held then, past ones included,
    instead of those that hold now. `at_least_sequence` is the sequence of a receipt: the answer
    reflects that write.
    """

    task_descriptor: str
    memory_types: tuple[MemoryType, ...] = ()
    min_salience: float | None = None
    min_strength: float | None = None
    root_limit: int = 10
    node_limit: int = 25
    edge_limit: int = 100
    max_hops: int = 1
    hop_types: tuple[tuple[MemoryType, ...], ...] = ()
    context: dict[str, Any] | None = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    at_least_sequence: str | None = None
    token_budget: int | None = None
    citation_style: CitationStyle = CitationStyle.RECORD_ID
    exclude_thread_ids: tuple[str, ...] = ()
    scopes: tuple[str, ...] | None = None
    max_sensitivity: Sensitivity | None = None

    def reaches(self, type_: MemoryType) -> bool:
        """Return whether records of a type may be reached at the first hop from the roots."""
        wanted = self.hop_types[0] if self.hop_types else ()
        return self.max_hops > 0 and (not wanted or type_ in wanted)


def check_length(text: str, name: str) -> None:
    """Raise InvalidInput for a question of over MAX_DESCRIPTOR characters, as it is given or as it is searched.

    It is searched in its compatibility form, in which one character may become 18.
    """
    length = len(text)
    if length <= MAX_DESCRIPTOR:
        length = len(normalised("NFKC", text))
    if length > MAX_DESCRIPTOR:
        form = " in their compatibility form (NFKC)" if length > len(text) else ""
        raise InvalidInput(
            f"{name}: {length} characters{form}; at most {MAX_DESCRIPTOR} are allowed, shorten it", path=[name]
        )


def check(request: RetrieveRequest) -> None:
    """Raise InvalidInput naming all fields that are out of bounds, and their bounds."""
    problems = Problems()
    with problems:
        _check_task(request.task_descriptor)
    with problems:
        check_json(list(request.scopes or ()), path=["scopes"])
    for attribute, (name, least, most) in _BOUNDS.items():
        given = getattr(request, attribute)
        if given is not None:
            with problems:
                check_between(name, given, least, most)
    with problems:
        _check_hops(request)
    with problems:
        _check_threads(request.exclude_thread_ids)
    with problems:
        _check_context(request.context)
    problems.refuse()


def _check_task(text: str) -> None:
    if not text.strip():
        raise InvalidInput("taskDescriptor: is empty; describe the task in a few words", path=["taskDescriptor"])
    check_length(text, "taskDescriptor")
    check_json(text, path=["taskDescriptor"])


def _check_hops(request: RetrieveRequest) -> None:
    if len(request.hop_types) > request.max_hops:
        raise InvalidInput(
            f"hopTypes: has types for {len(request.hop_types)} hops, and maxHops is {request.max_hops}; give at most"
            " one list for each hop",
            path=["hopTypes"],
        )


def _check_threads(threads: tuple[str, ...]) -> None:
    check_json(list(threads), path=["excludeThreadIds"])
    if len(threads) > MAX_THREADS:
        raise InvalidInput(
            f"excludeThreadIds: has {len(threads)} threads; give at most {MAX_THREADS}", path=["excludeThreadIds"]
        )


def _check_context(context: object) -> None:
    if context is None:
        return
    if not isinstance(context, dict):
        raise InvalidInput(f"context: must be a JSON object of conditions, not {json_type(context)}", path=["context"])
    if has_more_values(context, MAX_CONTEXT):
        raise InvalidInput(
            f"context: has over {MAX_CONTEXT:,} values; give only the conditions that matter for the task",
            path=["context"],
        )
    check_json(context, path=["context"])
