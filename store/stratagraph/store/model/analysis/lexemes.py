"""The lexemes of a text: the strings that become the terms of records and of questions.

A record has every form by which one of its words may be asked for; a question asks for each of its words in the forms
that a record of any language has. Every word of a record is found by itself: the first form that a question asks for
follows from the word alone, in no language but English, and the record has it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from stratagraph.store.model.analysis.folding import WORD, folded
from stratagraph.store.model.analysis.irregular_forms import irregular_forms
from stratagraph.store.model.analysis.languages import (
    BASE,
    MAX_WORD,
    is_stop_word,
    language_of,
    stems,
    suggested_languages,
)
from stratagraph.store.model.unicode_forms import plain_form

MAX_READ = 1 << 20  # characters of a text in plain form that are read for terms

_PART = 8_192  # characters that are normalised at a time
_PIECE = re.compile(r"[^\s\"'`()\[\]{}<>,;!?|]+")
_TRIMMED = ".:*"  # signs at the ends of a piece that do not belong to it
_SAMPLE = 400  # pieces of a text by which its language is found
_KEPT = 64  # characters of the longest piece that the cache keeps
# Scripts without spaces between words, and Hangul, whose words have endings. Each run of them is searched by its pairs
# of characters (as in Lucene's CJKAnalyzer).
_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_DENSE = (
    _HAN + "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0f40-\u0fbc\u1000-\u103f\u1780-\u17d3"
)
_RUN = re.compile(f"([{_DENSE}]+)")
# Question words of Chinese and Japanese: what answers a question lacks them. 何 is a surname, too.
_INTERROGATIVE = re.compile(
    "为什么|為什麼|什么|什麼|怎么样|怎麼樣|怎么|怎麼|怎样|怎樣|哪里|哪裡|哪儿|哪兒|哪些|哪个|哪個|谁|誰|多少|几个|幾個|是否|请问|請問|[吗嗎呢]$"
    "|どこ|だれ|いつ|なぜ|でしょうか$|ですか$|ますか$"
)
_HAN_CHARACTER = re.compile(f"[{_HAN}]")
_LONGEST_WHOLE = 8  # characters of a run that is searched as a whole, too
EXACT = "="  # prefix of a whole identifier, which keeps it apart from a word of the same spelling
LEAST_PART = 4  # letters of a part of a compound
_JOINING = frozenset({"german", "dutch", "swedish", "norwegian", "danish", "finnish", "hungarian", "estonian"})
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


@dataclass(frozen=True, slots=True)
class Analysis:
    """The lexemes of a record's text in order, with repetitions, and its length in words and identifiers.

    `too_long` is how many of its words have no lexeme, because they have more than MAX_WORD characters.
    """

    lexemes: list[str]
    length: int
    too_long: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A word or identifier of a question, as it is written there, and the lexemes by which a record may have it.

    Every record with this very word has the first of them. With `is_part`, it is a part of another word.
    """

    text: str
    forms: tuple[str, ...]
    is_part: bool = False


def analysed(text: str) -> Analysis:
    """Return the lexemes of a record's text: of its words, of its identifiers and of their parts."""
    pieces = list(_pieces(text))
    language = language_of({piece.lower().strip(_TRIMMED) for piece in pieces[:_SAMPLE]})
    found: list[str] = []
    length = too_long = 0
    for piece in pieces:
        forms, words = (_of_piece if len(piece) <= _KEPT else _of_piece.__wrapped__)(piece, language)
        found += forms
        length += words
        too_long += len(piece) > MAX_WORD and not forms
    return Analysis(found, length, too_long)


def lexemes(text: str) -> list[str]:
    """Return the lexemes of a record's text.

    >>> lexemes("Refactored pkg/auth")
    ['refactor', '=pkg/auth', 'pkg', 'auth']
    """
    return analysed(text).lexemes


def occurrences(text: str, wanted: Collection[str]) -> list[tuple[int, str]]:
    """Return where a record's text has one of the lexemes `wanted`, as (place of the piece, lexeme), in order.

    >>> occurrences("The retries: retried twice", {"retri"})
    [(4, 'retri'), (13, 'retri')]
    """
    language = language_of({piece.lower().strip(_TRIMMED) for piece in _PIECE.findall(text[:_PART])[:_SAMPLE]})
    found: list[tuple[int, str]] = []
    for match in _PIECE.finditer(text):
        place = match.start()
        for part, is_run in _split(match.group()):
            if is_run:
                found += [
                    (place + at, one)
                    for at in range(len(part))
                    for one in dict.fromkeys([part[at : at + 2], part[at]])
                    if one in wanted
                ]
            else:
                forms = (_of_piece if len(part) <= _KEPT else _of_piece.__wrapped__)(plain_form(part), language)[0]
                found += [(place, one) for one in dict.fromkeys(forms) if one in wanted]
            place += len(part)
    return found


def _split(piece: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a piece, which together are the piece, and whether each is of a script without spaces."""
    if piece.isascii():
        yield piece, False
        return
    for place, part in enumerate(_RUN.split(piece)):
        if part:
            yield part, place % 2 == 1


def asked(text: str) -> list[Asked]:
    """Return the distinct words of a question in order of appearance.

    An identifier is a word of its own, followed by its parts. A question of a word or two shows its language by little,
    so it is asked in each language that its letters suggest. The parts of words come last: ideographs, and what German
    and its neighbours join ("Geschenkideen"), wherever it may be divided.
    """
    return list(_asked(text))


@lru_cache(maxsize=64)  # one question is read for its words, its names, its sentences and its times
def _asked(text: str) -> tuple[Asked, ...]:
    pieces = list(_pieces(text))
    words = {piece.lower().strip(_TRIMMED) for piece in pieces[:_SAMPLE]}
    language = language_of(words)
    languages = [language] if language != BASE else [language_of(words, least=1), *suggested_languages(words)]
    found: dict[str, Asked] = {}
    for piece in pieces:
        for one in _asked_of(piece, language, languages):
            found.setdefault(one.forms[0], one)
    whole_words = list(found.values())
    for part in _HAN_CHARACTER.findall("".join(word.text for word in whole_words if is_dense(word.text))):
        found.setdefault(part, Asked(part, (part,), is_part=True))
    if not _JOINING.isdisjoint(languages):
        for part in dict.fromkeys(part for word in whole_words for part in divided(word.text)):
            forms = stems(part, languages)
            found.setdefault(forms[0], Asked(part, forms, is_part=True))
    return tuple(found.values())


def has_capital_nouns(text: str) -> bool:
    """Return whether a text is in a language in which every noun has a capital, so that a capital shows no name.

    >>> has_capital_nouns("Wann war die Untersuchung beim Arzt?"), has_capital_nouns("When did Ann see the doctor?")
    (True, False)
    """
    words = {piece.lower().strip(_TRIMMED) for piece in islice(_pieces(text), _SAMPLE)}
    return language_of(words, least=1) == "german"


def is_dense(word: str) -> bool:
    """Return whether a word of a question is a pair of characters of a script without spaces, or one character."""
    return _RUN.fullmatch(word) is not None


@lru_cache(maxsize=100_000)
def _of_piece(piece: str, language: str) -> tuple[tuple[str, ...], int]:
    """Return the lexemes of a piece of a record's text, and its length."""
    found: list[str] = []
    length = 0
    for segment, is_run in segments(piece):
        if is_run:
            found += _of_run(segment)
            length += max(1, len(segment) - 1)
            continue
        numbered, rest = releases(segment)
        if is_identifier(segment):
            found.append(whole(segment))
            length += 1
        inner = [*map(whole, inner_identifiers(segment)), *(form for one in numbered for form in release_forms(one))]
        found += [form for form in dict.fromkeys(inner) if form != whole(segment)]
        for release in numbered:
            found += release_prefixes(release)
        for word in WORD.findall(rest):
            forms = _forms(word, language)
            found += forms
            length += bool(forms)
            # Encoded data and hashes are not taken apart.
            for part in (*humps(word), *name_and_number(word)):
                found += _forms(part, language)
    return tuple(found), length


def _forms(word: str, language: str) -> tuple[str, ...]:
    """Return the stems of a word of a record; none for a stop word of the record's language, and for a long word."""
    plain = folded(word)
    if not plain or len(plain) > MAX_WORD or is_stop_word(plain, language):
        return ()
    return stems(word, (language,))


def _of_run(run: str) -> list[str]:
    """Return the pairs of a run's characters, its ideographs, and a short run as a whole."""
    if len(run) == 1:
        return [run]
    found = [run[start : start + 2] for start in range(len(run) - 1)]
    found += _HAN_CHARACTER.findall(run)
    if len(run) <= _LONGEST_WHOLE and (plain := folded(run)) != run[:2]:
        found.append(plain)
    return found


def _asked_of(piece: str, language: str, languages: list[str]) -> Iterator[Asked]:
    # Records of an earlier release have a word of such a script as a whole, with the letters beside it.
    together = WORD.findall(piece) if len(piece) <= 2 * MAX_WORD else []
    for segment, is_run in segments(piece):
        if is_run:
            run = folded(together[0] if len(together) == 1 else segment[: 2 * MAX_WORD])
            for part in [part for part in _INTERROGATIVE.split(segment) if len(part) > 1] or [segment]:
                for start in range(max(1, len(part) - 1)):
                    pair = part[start : start + 2]
                    yield Asked(pair, (pair, run) if run != pair and len(run) <= MAX_WORD else (pair,))
            continue
        numbered, rest = releases(segment)
        words = WORD.findall(rest)
        alone = segment in numbered or words == [segment]
        if not alone and is_identifier(segment):
            yield Asked(segment, (whole(segment),))
        for release in numbered:
            yield Asked(release, release_forms(release))
        for word in words:
            plain = folded(word)
            if not plain or len(plain) > MAX_WORD or is_stop_word(plain, language):
                continue
            more = (whole(word),) if alone and is_identifier(word) else ()
            if language == BASE:
                more = (*irregular_forms(word), *more)
            yield Asked(word, tuple(dict.fromkeys((*stems(word, languages), *more))))
            for part in humps(word):
                if not is_stop_word(folded(part), language):
                    yield Asked(part, stems(part, languages))


def divided(word: str) -> list[str]:
    """Return the parts of a word that may be a compound, wherever it may be divided, longer first parts first.

    >>> divided("Hausboot")
    ['Haus', 'boot']
    """
    if not word.isalpha() or len(word) > MAX_WORD:
        return []
    places = range(len(word) - LEAST_PART, LEAST_PART - 1, -1)
    return [part for place in places for part in (word[:place], word[place:])]


def segments(piece: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a piece, and whether each is a run of a script without spaces."""
    if piece.isascii():
        segment = piece.strip(_TRIMMED)
        if segment:
            yield segment, False
        return
    for place, part in enumerate(_RUN.split(piece)):
        is_run = place % 2 == 1
        segment = part if is_run else part.strip(_TRIMMED)
        if segment:
            yield segment, is_run


def _pieces(text: str) -> Iterator[str]:
    """Yield the pieces of the first MAX_READ characters of a text in plain form.

    That form may be 18 times as long as the text, so it is made for a part of the text at a time. The parts end where a
    white space begins, or after _PART characters without one.
    """
    if text.isascii():
        yield from _PIECE.findall(text[:MAX_READ])
        return
    start, left = 0, MAX_READ
    while start < len(text) and left > 0:
        end = start + _PART
        if end < len(text):
            space = max(text.rfind(" ", start + 1, end), text.rfind("\n", start + 1, end))
            end = space if space > 0 else end
        part = plain_form(text[start:end])[:left]
        yield from _PIECE.findall(part)
        start, left = end, left - len(part)


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
