"""Identifiers: names in code, paths, addresses and releases, whole and in parts."""

from __future__ import annotations

import re

EXACT = "="  # prefix of a whole identifier, which keeps it apart from a word of the same spelling
MAX_IDENTIFIER = 128  # characters
MAX_PARTS = 8  # of one identifier, beside its words

_IDENTIFIER = re.compile(r"[\d_/@#:\\]|\.\w|\w-\w|[a-z][A-Z]")
_SEPARATOR = re.compile(r"[/\\@:#?&=]+")
# Two numbers with a dot between them, and more: a release, an address of a machine, or a decimal number.
_RELEASE = re.compile(r"(?<![^\W_])[vV]?\d{1,20}(?:\.\d{1,20}){1,15}(?:[^\W\d_]\w{,20})?(?![^\W_])")
_NUMBERS = re.compile(r"[vV]?\d+(?:\.\d+)*")
_HUMP = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z]{2})|[A-Z]?[a-z]+|[A-Z]+|\d+")
_COUNTED = re.compile(r"([^\W\d_]{2,})(\d{2,})")


def is_identifier(piece: str) -> bool:
    """Return whether a piece of a text is found whole, beside its words."""
    return len(piece) <= MAX_IDENTIFIER and _IDENTIFIER.search(piece) is not None


def whole(identifier: str) -> str:
    """Return the term of a whole identifier."""
    return EXACT + identifier.casefold()


def inner_identifiers(piece: str) -> list[str]:
    """Return the identifiers that one consists of: the file of a path, the host of an address.

    >>> inner_identifiers("pkg/auth/session.go")
    ['session.go']
    """
    parts = _SEPARATOR.split(piece)
    return [part for part in parts[-MAX_PARTS:] if part != piece and is_identifier(part) and not part.isalnum()]


def releases(piece: str) -> tuple[list[str], str]:
    """Return the releases in a piece of a text, and the piece without them.

    >>> releases("tool-v1.4.2.tar.gz")
    (['v1.4.2'], 'tool- .tar.gz')
    """
    if "." not in piece:
        return [], piece
    return _RELEASE.findall(piece), _RELEASE.sub(" ", piece)


def release_forms(release: str) -> tuple[str, ...]:
    """Return the terms of a whole release, with and without a leading v."""
    return tuple(dict.fromkeys([whole(release), whole(release.lstrip("vV"))]))


def release_prefixes(release: str) -> list[str]:
    """Return the terms of the releases that one belongs to, and of its long numbers: 1.4.2 belongs to 1.4.

    Only records have them. A question for 1.4.2 asks for it whole, so that 1.4.3 does not look like it.

    >>> release_prefixes("v2026.47.3")
    ['=v2026', '=v2026.47', '=2026.47', '2026']
    """
    found = _NUMBERS.match(release)
    numbers = found.group() if found else ""
    parts = numbers.split(".")
    shorter = [".".join(parts[:end]) for end in range(2, len(parts) + (numbers != release))]
    first = [whole(parts[0])] if parts[0][:1] in ("v", "V") else []
    long = [number for part in parts if len(number := part.lstrip("vV")) >= 4]
    return [*first, *(form for one in shorter for form in release_forms(one)), *long]


def humps(word: str) -> list[str]:
    """Return the words that capitals set apart within one, or none: encoded data has too many capitals.

    >>> humps("normalizeWindow")
    ['normalize', 'Window']
    """
    if len(word) > MAX_IDENTIFIER or not _HUMP.search(word):
        return []
    parts = _HUMPS.findall(word)
    return [part for part in parts if len(part) > 1] if 2 * len(parts) <= len(word) and len(parts) <= MAX_PARTS else []


def name_and_number(word: str) -> tuple[str, ...]:
    """Return the letters and the number that a word consists of, or nothing.

    >>> name_and_number("pb2291")
    ('pb', '2291')
    """
    found = _COUNTED.fullmatch(word)
    return found.groups() if found else ()
