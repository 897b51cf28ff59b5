"""Paths of errors in a request of several captures, and keys that occur twice in it.

While drafts are written, the path of an error begins with `#<position>` of the draft that it concerns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from stratagraph.store.model.errors import InvalidInput, StratagraphError
from stratagraph.store.records.candidates import RequestKey


def refuse_repeated_keys(keys: Sequence[RequestKey]) -> None:
    """Raise InvalidInput where two items have the same idempotency key."""
    seen: set[bytes] = set()
    for position, key in enumerate(keys):
        if key.key_hash is None:
            continue
        if key.key_hash in seen:
            raise InvalidInput(
                f"items.{position}.idempotencyKey: an earlier item of the batch has the same key; give each item its"
                " own",
                path=["items", str(position), "idempotencyKey"],
            )
        seen.add(key.key_hash)


def set_request_path(error: StratagraphError, *, batch: bool) -> None:
    """Remove the `#<position>` from the error's path; in a batch, replace it by `items.<position>`."""
    if error.path and error.path[0].startswith("#"):
        position = int(error.path[0][1:])
        error.move(lambda path: path[1:] if path and path[0].startswith("#") else path)
        if batch:
            at_item(error, position)


def at_item(error: StratagraphError, position: int, *fields: str) -> StratagraphError:
    """Prefix the error's paths and message with `items.<position>` and the `fields` of the item; return the error."""
    place = ["items", str(position), *fields]
    error.move(lambda path: [*place, *path])
    error.args = (f"{'.'.join(place)}: {error.message}",)
    return error


@contextmanager
def within_item(position: int, *fields: str, is_batch: bool) -> Iterator[None]:
    """Prefix the paths and messages of errors that are raised within as `at_item` does, in a batch."""
    try:
        yield
    except StratagraphError as error:
        if is_batch:
            at_item(error, position, *fields)
        raise
