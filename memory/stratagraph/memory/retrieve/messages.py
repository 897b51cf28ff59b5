"""What a message asks: its question sentences, apart from a greeting, an account or a log around them. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from stratagraph.store.model.analysis.lexemes import asked

MOST_SENTENCES = 3  # question sentences of one message, the last ones
LEAST_WORDS = 2  # of question sentences; with fewer, the whole message is the question
SHORT = 400  # characters of a message of which all words are read
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|[\r\n]+|:\s+(?=[^\W\d_a-z])")
_ASKS = re.compile(r"[?？؟][\"'”’»)\]]*\s*$|^\s*¿")


@lru_cache(maxsize=64)
def sentences(message: str) -> tuple[str, ...]:
    """Return the sentences of a message, without white space at their ends."""
    return tuple(sentence.strip() for sentence in _SENTENCE.split(message) if sentence.strip())


def asks(message: str) -> bool:
    """Return whether a message has a question sentence."""
    return any(map(_ASKS.search, sentences(message)))


@lru_cache(maxsize=64)
def asking_part(message: str) -> str | None:
    """Return the last question sentences of a message; None for a message that is nothing else, or has none.

    >>> asking_part("The van stood in the frost. Anything to do before the emission test?")
    'Anything to do before the emission test?'
    """
    found = sentences(message)
    asking = [sentence for sentence in found if _ASKS.search(sentence)][-MOST_SENTENCES:]
    if not asking or len(asking) == len(found):
        return None
    part = " ".join(asking)
    return part if sum(not word.is_part for word in asked(part)) >= LEAST_WORDS else None


def question_first(message: str) -> str:
    """Return a long message with its question sentences before the rest, since only its first words are read.

    >>> question_first(40 * "Hello there! " + "Where is the spare key?")[:36]
    'Where is the spare key? Hello there!'
    """
    part = asking_part(message) if len(message) > SHORT else None
    if part is None:
        return message
    return " ".join([part, *(sentence for sentence in sentences(message) if sentence not in part)])
