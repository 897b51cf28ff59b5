"""Where the words of an extracted fact are: in the record that it quotes, or in others of the request. No I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from uuid import UUID

from stratagraph.memory.learning.extraction.prompt import Item
from stratagraph.store.model.analysis.folding import WORD
from stratagraph.store.model.analysis.languages import BASE, is_function_word, stem
from stratagraph.store.model.canonical import normalised_name


def occurs(literal: str, text: str) -> bool:
    """Return whether a literal is in a text as a whole, not within a longer word or number.

    >>> occurs("ann", "Ann left"), occurs("Ann", "Anna left"), occurs("3", "version 3.1")
    (True, False, False)
    """
    wanted = normalised_name(literal)
    pattern = rf"(?<!\w)(?<!\d[.,]){re.escape(wanted)}(?!\w)(?![.,]\d)"
    return bool(wanted) and re.search(pattern, normalised_name(text)) is not None


def other_records(subject: str, predicate: str, source: Item, part: Sequence[Item]) -> frozenset[UUID]:
    """Return the records of a request from which words of a fact may come that the record of `source` does not have.

    `predicate` is empty where its words are known without the texts. The words of the predicate are compared by their
    stems, because it is asked for in the present tense, and function words of it count for nothing.
    """
    own = [item.text for item in part if item.record == source.record]
    others = [item for item in part if item.record != source.record]
    found = set[UUID]()
    if not any(occurs(subject, text) for text in own):
        lacking = [word for word in _words([subject]) if not any(occurs(word, text) for text in own)]
        found |= {item.record for item in others if any(occurs(word, item.text) for word in [subject, *lacking])}
    stems = {stem(word, BASE) for word in _words(predicate.split("_")) if not is_function_word(word)}
    stems -= _stems(own)
    return frozenset(found | {item.record for item in others if stems & _stems([item.text])})


def _stems(texts: Iterable[str]) -> set[str]:
    return {stem(word, BASE) for word in _words(texts)}


def _words(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in WORD.findall(normalised_name(text))]
