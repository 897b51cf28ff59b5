"""Phrases: text in double quotes in a question, which a record must have word for word.

No index has the positions of words, so phrases are looked for in the texts of the candidates that word search finds.
Case, accents and the signs between words do not matter.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from typing import Protocol, TypeVar
from uuid import UUID

from stratagraph.store.model.analysis.folding import WORD, folded
from stratagraph.store.model.analysis.lexemes import MAX_READ, segments
from stratagraph.store.model.records import MemoryRecord
from stratagraph.store.model.unicode_forms import normalised

MAX_PHRASES = 4  # of one question; further ones are read as words only
MAX_PHRASE = 200  # characters
_QUOTED = re.compile(rf"[\"“”„«]([^\"“”„«»]{{0,{MAX_PHRASE}}})[\"“”»]")

T = TypeVar("T")


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


def spaced(text: str) -> str:
    """Return the folded words of a text with one space before and after each, but none within a script without spaces.

    So a phrase is in a text if its spaced form is in that of the text.
    """
    words = WORD.findall(normalised("NFKC", text[:MAX_READ]))
    parts = ((folded(part), is_run) for word in words for part, is_run in segments(word))
    return "".join(part if is_run else f" {part} " for part, is_run in parts).replace("  ", " ")


def has_phrases(record: MemoryRecord, phrases: Collection[str]) -> bool:
    """Return whether the name or the text of a record has all of the phrases."""
    text = f"{spaced(record.name or '')}\0{spaced(record.text or '')}"
    return all(phrase in text for phrase in phrases)


async def with_phrases(reader: RecordReader, question: str, candidates: Mapping[UUID, T]) -> Mapping[UUID, T]:
    """Return the candidates that have all phrases of the question; all of them if it has none.

    Reads the candidates only where the question has a phrase, in one statement, and their texts beside the event loop:
    they may be long.
    """
    phrases = phrases_of(question)
    if not phrases or not candidates:
        return candidates
    records = await reader.records(candidates)

    def having_them() -> dict[UUID, T]:
        return {id_: why for id_, why in candidates.items() if id_ in records and has_phrases(records[id_], phrases)}

    return await asyncio.to_thread(having_them)
