"""Canonical JSON, keyed hashes over it, and the check that a JSON value can be stored.

The keys of facts, names and identifiers are HMAC-SHA256, with the tenant's index key, over RFC 8785 JSON. So `1` and
`1.0` are one value, a long object has a short key, and a dump of the database does not reveal what it describes.
See docs/data-model.md, Facts and Entities.
"""

from __future__ import annotations

import hmac
import math
import re
import unicodedata
from typing import Any

import rfc8785

from stratagraph.store.model.analysis.folding import MARKS
from stratagraph.store.model.error_values import shown
from stratagraph.store.model.errors import InvalidInput, LimitExceeded
from stratagraph.store.model.unicode_forms import normalised, plain_form

MAX_DEPTH = 64  # levels of nesting; deeper JSON is a mistake or an attack
KEY_BYTES = 32  # of index keys, data keys and master keys
_LARGEST_INTEGER = 2**53 - 1  # RFC 8785 accepts integers up to this magnitude
# Between letters or digits of any script, the mark of a letter on the left included.
_UNDERSCORE = re.compile(rf"(?:(?<=[^\W_])|(?<=[{MARKS}]))_(?=[^\W_])")
_DASH = re.compile("[\u2014\u2015\u2e17\u2e3a\u2e3b\u2e40]")  # in a sentence they stand between words
_ACUTE = re.compile(" [\u0301\u0313\u0314]")  # what NFKC makes of an accent that stands alone, typed as an apostrophe


def canonical_json(value: Any, *, path: list[str]) -> bytes:
    """Return the value as RFC 8785 JSON. Raises InvalidInput for a number without an exact IEEE 754 double."""
    try:
        return rfc8785.dumps(_as_doubles(value))
    except rfc8785.CanonicalizationError as error:
        raise InvalidInput(
            f"{'.'.join(path)}: has no canonical JSON form: {error}; send such numbers as strings", path=path
        ) from error


def _as_doubles(value: Any) -> Any:
    """Return the value with large integers that a double holds exactly as doubles: in JSON, 1e16 is the same number."""
    if isinstance(value, dict):
        return {name: _as_doubles(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_as_doubles(item) for item in value]
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER and abs(value) < 1e300 and int(float(value)) == value:
        return float(value)
    return value


def keyed_hash(key: bytes, kind: str, value: bytes) -> bytes:
    """Return HMAC-SHA256 of `kind` and `value`, 32 bytes, so that equal values of two kinds have different hashes."""
    return hmac.digest(key, kind.encode() + b"\x00" + value, "sha256")


def has_more_values(value: object, most: int) -> bool:
    """Return whether a JSON value has more than `most` values, those of the lists and objects in it included.

    Takes time in proportion to `most`, whatever the size of the value.
    """
    count, stack = 0, [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict | list):
            count += len(item)
            if count > most:
                return True
            inner = item.values() if isinstance(item, dict) else item
            stack.extend(one for one in inner if isinstance(one, dict | list))
    return False


def folded_text(text: str) -> str:
    """Return a text as literals are compared: Unicode compatibility form, case-folded, single spaces between words.

    >>> folded_text("  Dark  MODE ")
    'dark mode'
    """
    return " ".join(normalised("NFKC", text).casefold().split())


def unaccented(text: str) -> str:
    """Return a text as `folded_text` does, and without the accents of Latin and Greek letters.

    Marks of other scripts are kept, because there they make another letter.

    >>> unaccented("  José  PÉREZ "), unaccented("Йод")
    ('jose perez', 'йод')
    """
    folded = folded_text(text)
    if folded.isascii():
        return folded
    kept: list[str] = []
    has_accents = False
    for character in normalised("NFD", folded):
        if unicodedata.combining(character):
            if has_accents:
                continue
        else:
            has_accents = unicodedata.name(character, "").startswith(("LATIN", "GREEK"))
        kept.append(character)
    return folded_text(normalised("NFC", "".join(kept)))


def separated(name: str) -> str:
    """Return a name with a space for each underscore between two words, as in `two_year_warranty`.

    Other underscores are part of a name: `__init__` and `_pool` are not `init` and `pool`.
    """
    return _UNDERSCORE.sub(" ", name) if "_" in name else name


def normalised_name(name: str) -> str:
    """Return a name as names are compared: `unaccented`, with one form of the signs that people write differently.

    Apostrophes, quotes, hyphens and dashes are those of ASCII, an underscore between two words is a space, and
    invisible characters are left out. A name in which nothing is visible is compared as it is.

    >>> normalised_name("Liam O\u2019Brien"), normalised_name("Two_Year_Warranty"), normalised_name("Jean\u2011Luc")
    ("liam o'brien", 'two year warranty', 'jean-luc')
    """
    plain = plain_form(name)
    if not plain.isascii():
        plain = _DASH.sub("-", _ACUTE.sub("'", plain))
    return unaccented(separated(plain)) or unaccented(name)


def normalised_identifier(namespace: str, value: str) -> tuple[str, str]:
    """Return an identifier as identifiers are compared: its namespace without case and accents, its value exactly.

    E-mail addresses are compared without case.

    >>> normalised_identifier("Email", " Sam@Example.org "), normalised_identifier("path", "src/A.py")
    (('email', 'sam@example.org'), ('path', 'src/A.py'))
    """
    space, exact = unaccented(namespace), normalised("NFKC", value).strip()
    return space, exact.casefold() if space == "email" else exact


def check_json(value: Any, *, path: list[str], depth: int = 0) -> None:
    """Check that PostgreSQL can store a value as JSON; return nothing.

    Raises InvalidInput if it cannot, LimitExceeded if the value is nested deeper than MAX_DEPTH; both name `path`.
    """
    if depth > MAX_DEPTH:
        raise LimitExceeded(
            f"{'.'.join(path[:6])}…: nested deeper than {MAX_DEPTH} levels; send a flatter value", path=path
        )
    if isinstance(value, str):
        if "\x00" in value:
            raise InvalidInput(
                f"{'.'.join(path)}: contains the character U+0000, which cannot be stored; leave it out",
                path=path,
            )
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise InvalidInput(f"{'.'.join(path)}: contains half of a surrogate pair; send valid UTF-8", path=path)
    elif isinstance(value, dict):
        for name, item in value.items():
            if not isinstance(name, str):
                raise InvalidInput(f"{'.'.join(path)}: object keys must be strings, not {shown(name)}", path=path)
            check_json(name, path=path, depth=depth)
            check_json(item, path=[*path, name], depth=depth + 1)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            check_json(item, path=[*path, str(position)], depth=depth + 1)
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{'.'.join(path)}: {value} is not a JSON number; use a finite one", path=path)
    elif value is not None and not isinstance(value, bool | int):
        raise InvalidInput(
            f"{'.'.join(path)}: a {type(value).__name__} is not JSON; use a string, number, boolean, list, object or"
            " null",
            path=path,
        )
