"""Names found in the text of a capture: URLs, e-mail addresses, paths, and words that may be names. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from stratagraph.memory.capture.draft import Named
from stratagraph.memory.secrets.masking import holds_mask
from stratagraph.store.model.analysis.folding import folded
from stratagraph.store.model.analysis.languages import BASE, is_stop_word
from stratagraph.store.model.canonical import normalised_name
from stratagraph.store.model.unicode_forms import APOSTROPHES, HYPHENS, INVISIBLE
from stratagraph.store.model.visible_text import says_something

MAX_FOUND = 12  # names of each kind found in a text
GUESSES = 4 * MAX_FOUND
NAME_WORDS = 4  # in the longest run of capitalised words that is looked up
UNSPACED = 4  # characters of the longest name looked up in a script that does not separate words

_URL = re.compile(r"\bhttps?://[^\s<>\"')\]}]{3,200}")
# In which an @ or a path is no name. The scheme is bounded, because it may begin at each word of `a.b.c`.
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{0,30}://\S+", re.IGNORECASE)
# The last label of a domain has no digits: `kit@2.5.0` is a package.
_EMAIL = re.compile(r"(?<![\w.+/@-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\b(?![\w@:/-]|\.\w)")
_VERSIONED = re.compile(r"@v?\d")
# Bounded, because it may begin after each hyphen of `a-/-/`.
_PATH = re.compile(r"(?<![\w/:.@])(?:\.{0,2}/)?(?:[\w.-]{1,255}/){1,40}[\w-]{1,255}\.[A-Za-z]\w{0,7}\b(?!@)")
_SCRIPTS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\u0e00-\u0e7f"  # that do not separate words
_UNSPACED = re.compile(f"[{_SCRIPTS}]+")
_WORD = re.compile(rf"(?![{_SCRIPTS}])[^\W_](?:(?![{_SCRIPTS}])[\w'{APOSTROPHES}&{HYPHENS}{INVISIBLE}-])*")
_POSSESSIVE = re.compile(f"['{APOSTROPHES}]s$")
_LINKING = frozenset({"of", "the", "and", "de", "la", "van", "von", "der", "den", "da", "di"})
_SPACED = re.compile(r"\S++")
_ROLES = frozenset({"user", "assistant", "system", "tool", "agent", "human", "ai", "developer", "function"})


def names_in_text(text: str, *, role: str | None = None) -> list[Named]:
    """Return the names in a text: first those that make entities, then words that are only looked up.

    `role` is the speaker of a turn, who is a person unless it is the name of a role, such as `assistant`.
    """
    named = []
    if role is not None and says_something(role) and role.casefold() not in _ROLES:
        named.append(Named(name=role.strip(), predicate="mentions_entity", weight=0.6, type="Person"))
    if holds_mask(text):  # what holds a mask is no name
        text = _SPACED.sub(lambda word: ";" if holds_mask(word[0]) else word[0], text)
    plain = _ADDRESS.sub(" ", text)
    for pattern, entity_type, namespace, searched in (
        (_URL, "URL", "url", text),
        (_EMAIL, "Person", "email", plain),
        (_PATH, "File", "path", plain),
    ):
        found = dict.fromkeys(value.rstrip(".,;:!?") for value in pattern.findall(searched))
        named += [
            Named(
                name=value,
                predicate="mentions_entity",
                weight=0.7,
                type=entity_type,
                identifiers=((namespace, value),),
                is_pattern=True,
            )
            for value in [value for value in found if not _is_excluded(value, namespace)][:MAX_FOUND]
        ]
    known = {normalised_name(one.name) for one in named}
    named += [
        Named(name=guess, predicate="mentions_entity", weight=0.7, known_only=True)
        for guess in guessed_names(text)
        if normalised_name(guess) not in known
    ]
    return named


def address_of(name: str) -> tuple[tuple[str, str], ...]:
    """Return a name as an identifier if it is an e-mail address, so that it means the entity that has the address.

    >>> address_of("sam@example.org"), address_of("Sam"), address_of("kit@2.5.0")
    ((('email', 'sam@example.org'),), (), ())
    """
    is_address = _EMAIL.fullmatch(name.strip()) is not None and not _is_excluded(name, "email")
    return (("email", name.strip()),) if is_address else ()


def guessed_names(text: str) -> list[str]:
    """Return runs of up to NAME_WORDS capitalised words that may be names; at most GUESSES, in order.

    Of a longer run all parts are returned: a sentence begins with a capital, and "and" may join two names or two words
    of one. A name comes before its parts. Of scripts that do not separate words, all short runs of characters are
    returned. A single letter is none, nor is an English function word of two.

    >>> guessed_names("Today Jon Smith and Ann Lee fly")[:3]
    ['Today Jon Smith', 'Today Jon', 'Today']
    >>> {"Jon Smith", "Ann Lee"} <= {*guessed_names("Today Jon Smith and Ann Lee fly")}
    True
    >>> guessed_names("It was Wu who asked QA"), guessed_names("I am A")
    (['Wu', 'QA'], [])
    """
    found: dict[str, None] = {}
    for guess in _runs(text):
        if len(guess) > 2 or _UNSPACED.fullmatch(guess) or _is_short_name(guess):
            found.setdefault(guess)
        if len(found) >= GUESSES:
            break
    return list(found)


def _is_short_name(word: str) -> bool:
    return len(word) == 2 and not is_stop_word(folded(word), BASE)


class SearchedText:
    """A text in which names were found. It is normalised at most once, which takes long for a long text."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _normalised(self) -> str:
        return normalised_name(self._text)

    def has_only_within(self, name: str, others: Iterable[str]) -> bool:
        """Return whether a name occurs in the text only within longer ones of `others`, so that it is none by itself.

        >>> SearchedText("Ann Lee met Jo").has_only_within("Ann", ["Ann Lee"])
        True
        >>> SearchedText("Ann Lee met Ann").has_only_within("Ann", ["Ann Lee"])
        False
        """
        part = normalised_name(name)
        longer = {other for one in others if part in (other := normalised_name(one)) and other != part}
        if not longer:
            return False
        said = self._normalised
        for other in sorted(longer, key=len, reverse=True):
            said = _occurrences(other).sub(";", said)
        return _occurrences(part).search(said) is None


def _occurrences(name: str) -> re.Pattern[str]:
    """Return the pattern of a normalised name in a normalised text: whole words, in scripts that separate words."""
    first, last = (_UNSPACED.match(name[0]), _UNSPACED.match(name[-1]))
    return re.compile(("" if first else r"(?<!\w)") + re.escape(name) + ("" if last else r"(?!\w)"))


def _is_excluded(value: str, namespace: str) -> bool:
    """Return whether a text that looks like an e-mail address or a URL is a package reference, or holds a password."""
    if namespace == "email":
        return _VERSIONED.search(value) is not None
    return namespace == "url" and "@" in value.split("/")[2]


def _runs(text: str) -> Iterator[str]:
    run: list[str] = []
    end = 0
    for match in _WORD.finditer(text):
        word = match.group()
        if not run and not word[0].isupper():
            continue  # most words: they neither begin a run nor end one
        word = _POSSESSIVE.sub("", word)
        is_joined = bool(run) and text[end : match.start()].isspace()
        if not word[0].isupper() and not (is_joined and word in _LINKING):
            yield from _parts(run)
            run = []
            continue
        if not is_joined:
            yield from _parts(run)
            run = []
        run.append(word)
        end = match.end()
    yield from _parts(run)
    for match in _UNSPACED.finditer(text):
        piece = match.group()
        for length in range(min(UNSPACED, len(piece)), 1, -1):
            for start in range(len(piece) - length + 1):
                yield piece[start : start + length]


def _parts(run: list[str]) -> Iterator[str]:
    """Return the parts of a run that begin and end with a capitalised word, by where they begin, the longest first."""
    for start, word in enumerate(run):
        if word[0].isupper():
            for end in range(min(len(run), start + NAME_WORDS), start, -1):
                if run[end - 1][0].isupper():
                    yield " ".join(run[start:end])
