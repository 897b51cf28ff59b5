"""Masking secrets in texts and JSON values. Pure.

A mask tells different secrets apart: it holds a keyed fingerprint, so that threads, references and keys that differ
only in a secret stay different, and equal ones stay equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stratagraph.memory.secrets.forms import secret_spans
from stratagraph.store.model.canonical import keyed_hash

_BEGINNING = "[secret:"
_WITHOUT_KEY = "[secret]"
_FINGERPRINT = 4  # bytes


def masked_text(text: str, key: bytes | None) -> tuple[str, int]:
    """Return the text with a mask in place of each secret, and the number of secrets.

    `key` is the tenant's index key. Where None is at hand, as for a line that is shown, all masks are equal.

    >>> masked_text("postgres://app:s3cret@db/main", None)
    ('postgres://[secret]@db/main', 1)
    >>> masked_text("postgres://app:s3cret@db/main", bytes(32))
    ('postgres://[secret:e49da736]@db/main', 1)
    """
    parts: list[str] = []
    end = found = 0
    for start, stop in _united(text):
        parts += [text[end:start], _mask(text[start:stop], key)]
        end, found = stop, found + 1
    return ("".join([*parts, text[end:]]), found) if found else (text, 0)


def masked(value: Any, key: bytes | None) -> tuple[Any, int]:
    """Return a JSON value with a mask in place of each secret in its texts and keys, and the number of secrets."""
    if isinstance(value, str):
        return masked_text(value, key)
    if isinstance(value, dict):
        pairs = [(masked_text(name, key), masked(item, key)) for name, item in value.items()]
        found = sum(name[1] + item[1] for name, item in pairs)
        return ({name[0]: item[0] for name, item in pairs}, found) if found else (value, 0)
    if isinstance(value, list | tuple):
        items = [masked(item, key) for item in value]
        found = sum(item[1] for item in items)
        return (type(value)(item[0] for item in items), found) if found else (value, 0)
    return value, 0


def hold_secrets(*values: Any) -> bool:
    """Return whether a secret may be in one of the JSON values: none of them needs to be masked if this is false.

    All texts are searched at once, because each search costs about as much for many short texts as for one.
    """
    # No form but that of a private key goes on after the end of a line, and that one is found from its beginning.
    return next(secret_spans("\n".join(_texts(values))), None) is not None


def holds_mask(text: str) -> bool:
    """Return whether a secret was masked in the text, which therefore names nothing."""
    return _BEGINNING in text or _WITHOUT_KEY in text


def _mask(secret: str, key: bytes | None) -> str:
    if key is None:
        return _WITHOUT_KEY
    return f"{_BEGINNING}{keyed_hash(key, 'secret', secret.encode())[:_FINGERPRINT].hex()}]"


def _united(text: str) -> Iterator[tuple[int, int]]:
    """Return where the secrets are, in order; those that overlap are one."""
    start = stop = -1
    for begin, end in sorted(secret_spans(text)):
        if begin >= stop:
            if stop > start:
                yield start, stop
            start = begin
        stop = max(stop, end)
    if stop > start:
        yield start, stop


def _texts(value: Any) -> list[str]:
    """Return the strings in a JSON value, its keys included."""
    found: list[str] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            found += one
            waiting += one.values()
        elif isinstance(one, list | tuple):
            waiting += one
    return found
