"""Phrases of a question, in double quotes, which a record must have word for word. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

from stratagraph.store.model.analysis.folding import WORD, folded
from stratagraph.store.model.analysis.lexemes import MAX_READ, asked, segments
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.unicode_forms import plain_form
from stratagraph.store.model.words import name_terms

MAX_PHRASES = 4  # of one question; further ones are read as words only
MAX_PHRASE = 200  # characters
_QUOTED = re.compile(rf"[\"“”„«]([^\"“”„«»]{{0,{MAX_PHRASE}}})[\"“”»]")
_QUOTED_QUESTION = re.compile(r"\s*[\"“”„«][^\"“”„«»]*[?？][\"“”»]\s*")


def phrases_of(question: str) -> list[str]:
    """Return the phrases of a question as `spaced` does, at most MAX_PHRASES; quotes without a word are none.

    A question that stands in quotes as a whole has no phrases.

    >>> phrases_of('what is the "Retry budget" of the mirror?'), phrases_of('"What is the retry budget?"')
    ([' retry budget '], [])
    """
    if _QUOTED_QUESTION.fullmatch(question):
        return []
    found = (spaced(phrase) for phrase in _QUOTED.findall(question))
    return list(dict.fromkeys(phrase for phrase in found if phrase.strip()))[:MAX_PHRASES]


def without_phrases(question: str) -> str | None:
    """Return a question with its phrases read as words, for one whose phrases no record has; None if it is only them.

    Titles stand in quotes, too, and the record that answers need not spell them out.

    >>> without_phrases('Who read "Becoming Nicole"?'), without_phrases('where is "Becoming Nicole"?')
    ('Who read  Becoming Nicole ?', None)
    """
    return _QUOTED.sub(r" \1 ", question) if asked(_QUOTED.sub(" ", question)) else None


def spaced(text: str) -> str:
    """Return the folded words of a text with one space before and after each, but none within a script without spaces.

    So a phrase is in a text if its spaced form is in that of the text.
    """
    words = WORD.findall(plain_form(text[:MAX_READ]))
    parts = ((folded(part), is_run) for word in words for part, is_run in segments(word))
    return "".join(part if is_run else f" {part} " for part, is_run in parts).replace("  ", " ")


def has_phrases(record: MemoryRecord, phrases: Collection[str]) -> bool:
    """Return whether the name or the text of a record has all of the phrases."""
    text = f"{spaced(record.name or '')}\0{spaced(record.text or '')}"
    return all(phrase in text for phrase in phrases)


def terms_of_phrases(index_key: bytes, question: str) -> list[int]:
    """Return terms that every record with the phrases of a question has; none for a question without phrases.

    Function words are left out, and so are words with digits: a record may have those as parts of an identifier only.
    """
    words = [word for phrase in phrases_of(question) for word in phrase.split() if len(word) > 1 and word.isalpha()]
    return name_terms(index_key, " ".join(words))
