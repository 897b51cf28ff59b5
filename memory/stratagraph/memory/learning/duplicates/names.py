"""How two names of entities are alike. No I/O.

Only names as people write them are compared loosely. A path, an address or an identifier of a program means something
else if one character of it differs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from stratagraph.memory.learning.duplicates.signals import Signal
from stratagraph.store.model.analysis.folding import WORD
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.search.similar_names import LONG, SHORTEST, distance

LONGEST = 200  # characters of a name that is compared loosely
# The legal forms of companies, by what they stand for: two companies of one name may differ in nothing else.
_LEGAL_FORMS = {
    **dict.fromkeys(("co", "company", "corp", "corporation", "inc", "incorporated"), "corporation"),
    **dict.fromkeys(("limited", "ltd", "plc", "pty"), "limited"),
    **{
        form: form
        for form in ("ab", "ag", "aps", "as", "bv", "gmbh", "kg", "llc", "llp", "nv", "oy", "sa", "sarl", "se")
    },
    **{form: form for form in ("spa", "srl")},
}
_TECHNICAL = re.compile(r"[/\\_@#:<>=]|\w\.\w{2,}|\S\d|\d[^\W\d_]")
_DIGITS = re.compile(r"\d+")
SHORTEST_PART = 3  # letters of a short form of a first name, and of a name that is a part of a longer one


@dataclass(frozen=True, slots=True)
class Name:
    """A name in the form in which it is compared: its words without a legal form, and its numbers in their order.

    `spelled` is the whole name as captures compare it. `legal_form` is empty for a name that has none.
    """

    spelled: str
    words: tuple[str, ...]
    legal_form: str
    numbers: tuple[str, ...]
    is_natural: bool

    @property
    def letters(self) -> str:
        return "".join(self.words)


@lru_cache(maxsize=10_000)
def name_of(text: str) -> Name:
    """Return a name as it is compared.

    >>> name_of("Acme, Inc.").words, name_of("store/pool.py").is_natural
    (('acme',), False)
    """
    plain = normalised_name(text)
    words = WORD.findall(plain)
    legal_form = ""
    while len(words) > 1 and words[-1] in _LEGAL_FORMS:
        legal_form = _LEGAL_FORMS[words.pop()]
    natural = bool(words) and len(text) <= LONGEST and not _TECHNICAL.search(text)
    return Name(plain, tuple(words), legal_form, tuple(_DIGITS.findall(plain)), natural)


def alike(one: Name, other: Name) -> Signal | None:
    """Return the strongest way in which two names are alike; None if they are not.

    One that is not natural is only like a name that captures take for the same.

    >>> alike(name_of("J. Smith"), name_of("John Smith"))
    <Signal.INITIALS: 'initials'>
    >>> alike(name_of("Version 2"), name_of("Version 3")) is None
    True
    """
    if one.spelled == other.spelled:
        return Signal.SAME_NAME
    if not (one.is_natural and other.is_natural) or one.numbers != other.numbers:
        return None
    has_other_form = "" not in (one.legal_form, other.legal_form) and one.legal_form != other.legal_form
    if one.words == other.words and not has_other_form:
        return Signal.SAME_NAME
    if one.letters == other.letters or sorted(one.words) == sorted(other.words):
        return Signal.SAME_LETTERS
    if len(one.words) == len(other.words):
        return _same_length(one.words, other.words)
    shorter, longer = sorted((one.words, other.words), key=len)
    is_part = longer[: len(shorter)] == shorter or longer[-len(shorter) :] == shorter
    return Signal.LONGER_NAME if is_part and len("".join(shorter)) >= SHORTEST_PART else None


def _same_length(one: tuple[str, ...], other: tuple[str, ...]) -> Signal | None:
    differing = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    has_anchor = one[-1] == other[-1] and len(one[-1]) >= SHORTEST_PART
    if has_anchor and all(min(len(a), len(b)) == 1 and a[0] == b[0] for a, b in differing):
        return Signal.INITIALS
    if len(differing) != 1:
        return None
    short, long = sorted(differing[0], key=len)
    if one[0] != other[0] and len(short) >= SHORTEST_PART and long.startswith(short):
        return Signal.SHORT_FORM if len(one) > 1 else Signal.SHORT_WORD
    allowed = 2 if len(short) >= LONG else 1
    if len(short) >= SHORTEST and distance(short, long, most=allowed) <= allowed:
        return Signal.TYPO
    return None
