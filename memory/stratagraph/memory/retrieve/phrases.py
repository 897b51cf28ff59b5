"""Phrases: text in double quotes in a question, which a record must have word for word.

No index has the positions of words. So word search finds only records that have every word of the phrases, and their
texts are then compared. Case, accents and the signs between words do not matter.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from typing import Protocol
from uuid import UUID

from stratagraph.memory.retrieve.coverage import STRONG_ENOUGH
from stratagraph.memory.retrieve.rank import Why
from stratagraph.store.model.analysis.folding import WORD, folded
from stratagraph.store.model.analysis.lexemes import MAX_READ, asked, segments
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.unicode_forms import plain_form
from stratagraph.store.model.words import name_terms

MAX_PHRASES = 4  # of one question; further ones are read as words only
MAX_PHRASE = 200  # characters
_QUOTED = re.compile(rf"[\"“”„«]([^\"“”„«»]{{0,{MAX_PHRASE}}})[\"“”»]")


class RecordReader(Protocol):
    """Reads records under a caller's trust."""

    async def records(self, ids: Collection[UUID]) -> dict[UUID, MemoryRecord]: ...


def phrases_of(question: str) -> list[str]:
    """Return the phrases of a question as `spaced` does, at most MAX_PHRASES; quotes without a word are none.

    >>> phrases_of('what is the "Retry budget" of the mirror?')
    [' retry budget ']
    """
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


async def with_phrases(
    reader: RecordReader, phrases: Collection[str], candidates: Mapping[UUID, Why]
) -> Mapping[UUID, Why]:
    """Return the candidates that have all `phrases`, which are in the form of `phrases_of`; all of them if it is empty.

    They are strong enough for an answer: what the question insists on, they have. Reads the candidates only where there
    is a phrase, in one statement, and compares their texts beside the event loop: they may be long.
    """
    if not phrases or not candidates:
        return candidates
    records = await reader.records(candidates)

    def having_them() -> dict[UUID, Why]:
        return {id_: why for id_, why in candidates.items() if id_ in records and has_phrases(records[id_], phrases)}

    found = await asyncio.to_thread(having_them)
    for why in found.values():
        why.strength = max(why.strength, STRONG_ENOUGH)
    return found
