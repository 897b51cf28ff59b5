"""Storing a batch of imported items: one that cannot be stored is left out, and the others are stored whole."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from functools import partial

from stratagraph.memory.capture.request import MAX_BATCH, CaptureRequest
from stratagraph.memory.capture.service import Capture
from stratagraph.memory.imports.progress import ImportSummary, Refused
from stratagraph.store.model.errors import Forbidden, IdempotencyMismatch, SourceErased, StratagraphError
from stratagraph.store.model.trust import Trust


class Change(Enum):
    """What an item is, compared with what was imported before."""

    NEW = "was not known"
    CONTINUED = "goes on where the known one ends"
    EDITED = "differs from the known one with its id"


@dataclass(slots=True)
class Item:
    """An item of an import with its captures: a commit, or a conversation.

    `name` identifies it for the user. `change` is what storing it does to what is known of it.
    """

    name: str
    requests: list[CaptureRequest]
    change: Change = Change.NEW


async def store_items(
    capture: Capture,
    trust: Trust,
    items: Collection[Item],
    summary: ImportSummary,
    *,
    restore_erased: bool,
    dry_run: bool = False,
) -> list[Item]:
    """Store the captures of `items` in one transaction, and count them.

    Captures from erased sources are left out and counted; an item with a capture that is refused is left out whole and
    listed. Returns the items that another import has stored since they were looked up, which must be looked up again.
    An item with more than MAX_BATCH captures must come alone; it is checked whole, then stored in several transactions.
    With `dry_run`, the transaction is rolled back, and the same is counted.
    """
    store = capture.preview if dry_run else partial(capture.capture, batch=True)
    left = [item for item in items if item.requests]
    raced: list[Item] = []
    while left:
        requests = [request for item in left for request in item.requests]
        try:
            if len(requests) > MAX_BATCH:
                await capture.check(trust, requests)
            # The rest of a long item is stored only after its beginning, so that a refusal leaves nothing of it.
            answers = await store(trust, requests[:MAX_BATCH], restore_erased=restore_erased)
        except SourceErased as error:
            summary.erased += len(error.positions)
            _remove(left, set(error.positions))
        except StratagraphError as error:
            position = _position(error)
            if position is None or error.retryable or isinstance(error, Forbidden):
                raise
            item = _item_at(left, position)
            left.remove(item)
            if isinstance(error, IdempotencyMismatch):
                raced.append(item)
            else:
                summary.refused.append(Refused(item.name, _reason(error, position), error.code))
        else:
            summary.add(answers)
            _count_changes(left, len(answers), summary)
            _remove(left, set(range(len(answers))))
    return raced


def _count_changes(items: Collection[Item], stored: int, summary: ImportSummary) -> None:
    """Count the items among the first `stored` requests that continue or differ from known ones, each once."""
    place = 0
    for item in items:
        if place < stored:
            summary.continued += item.change is Change.CONTINUED
            summary.edited += [item.name] if item.change is Change.EDITED else []
            item.change = Change.NEW
        place += len(item.requests)


def _remove(items: list[Item], positions: set[int]) -> None:
    """Remove the requests at these places from the items, and items without requests from the list."""
    place = 0
    for item in items:
        kept = [request for index, request in enumerate(item.requests, place) if index not in positions]
        place += len(item.requests)
        item.requests = kept
    items[:] = [item for item in items if item.requests]


def _position(error: StratagraphError) -> int | None:
    """Return the place of the capture that the error concerns; None if it concerns the import as a whole."""
    path = error.path or []
    is_item = len(path) > 1 and path[0] == "items" and path[1].isdigit()
    return int(path[1]) if is_item else None


def _reason(error: StratagraphError, position: int) -> str:
    """Return why the capture was refused; the error may also have the problems of others."""
    own = [one.message for one in error.problems if one.path[:2] == ("items", str(position))]
    return "; ".join(one.removeprefix(f"items.{position}: ") for one in own or [error.message])


def _item_at(items: Collection[Item], position: int) -> Item:
    for item in items:
        if position < len(item.requests):
            return item
        position -= len(item.requests)
    raise IndexError(position)
