"""Decoding of JSON input within bounds, so that a small body can take neither much memory nor much time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from stratagraph.store.model.errors import InvalidInput, LimitExceeded

MAX_DEPTH = 100  # levels of lists and objects; the content of a record may have 64 of them
MAX_VALUES = 500_000  # of a body; each takes up to about 100 bytes beside its text
MAX_DIGITS = 308  # characters of a number, which a double can hold
_BOM = b"\xef\xbb\xbf"
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)  # to the end of the body where it is not closed
_BRACKETS = b"[]{}"
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in _BRACKETS)
_OPENING = b"[{"
# Escapes of U+0000 and of surrogates, which are the only way to write them in JSON.
_SUSPECT = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


def decode_json(body: bytes) -> Any:
    """Return the JSON value of `body`.

    Raises InvalidInput for what is not JSON in UTF-8, or could not be stored: a repeated key, a number that no double
    holds, the character U+0000, half of a surrogate pair. Raises LimitExceeded over MAX_DEPTH or MAX_VALUES.
    """
    if body.startswith(_BOM):
        raise InvalidInput("The body begins with a byte order mark; send JSON in UTF-8 without one.")
    _check_size(body)
    try:
        value = json.loads(
            body.decode(),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"The body is not UTF-8 (byte {error.start:,}); send JSON in UTF-8, without compression."
        ) from None
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"The body is not JSON: {error.msg} at line {error.lineno:,}, column {error.colno:,}; correct it."
        ) from None
    if _SUSPECT.search(body):
        _check_texts(value)
    return value


def _check_size(body: bytes) -> None:
    """Check depth and number of values by the brackets and commas outside strings, before anything is built."""
    if body.count(b"[") + body.count(b"{") <= MAX_DEPTH and body.count(b",") <= MAX_VALUES:
        return
    too_many = LimitExceeded(f"The body has over {MAX_VALUES:,} JSON values; send smaller batches.")
    # A value has at most four quotes, its key's included. This lower bound spares the search for strings.
    if body.count(b'"') - body.count(b'\\"') > 4 * MAX_VALUES:
        raise too_many
    structure = _STRING.sub(b"", body)
    brackets = structure.translate(None, delete=_NO_BRACKETS)
    if len(brackets) // 2 + structure.count(b",") > MAX_VALUES:
        raise too_many
    depth = 0
    for byte in brackets:
        depth += 1 if byte in _OPENING else -1
        if depth > MAX_DEPTH:
            raise LimitExceeded(f"The body is nested deeper than {MAX_DEPTH} levels; send flatter values.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise InvalidInput("An object of the body has the same key twice; send each key once.")
    return value


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS:
        raise InvalidInput(f"A number of the body has over {MAX_DIGITS} digits; send it as a string.")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise InvalidInput("A number of the body is too large for a double; send it as a string.")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise InvalidInput(f"{name} is not a JSON number; send null or a finite number.")


def _check_texts(value: Any) -> None:
    for text, path in _texts(value):
        place = ".".join(path[:8]) or "The body"
        if "\x00" in text:
            raise InvalidInput(f"{place}: contains the character U+0000, which cannot be stored; leave it out.")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise InvalidInput(f"{place}: contains half of a surrogate pair; send whole characters.")


def _texts(value: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each string of the value, keys included, with its path; keys have the path of their object."""
    stack: list[tuple[Any, tuple[str, ...]]] = [(value, ())]
    while stack:
        item, path = stack.pop()
        if isinstance(item, str):
            if not (item.isascii() and "\x00" not in item):
                yield item, path
        elif isinstance(item, dict):
            for key, inner in item.items():
                yield key, path
                stack.append((inner, (*path, key)))
        elif isinstance(item, list):
            stack.extend((inner, (*path, str(position))) for position, inner in enumerate(item))
