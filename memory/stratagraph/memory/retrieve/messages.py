"""What a message asks, apart from a greeting, an account or a log around it. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

MOST_SENTENCES = 8  # question sentences of one message, the last ones
SHORT = 400  # characters of a message of which all words are read
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])|[\r\n]+|:\s+(?=[^\W\d_a-z])")
# Whom a message speaks to: "Hey Claude, …", "Claude: …".
_GREETING = re.compile(
    r"(?:(?:hey|hi|hello|ok|okay|yo|dear|hallo|hej|salut|bonjour|hola|ciao)\b[ ,]*(?:[^\W\d_]+ ?){0,3}|[^\W\d_]+)"
    r"[,:]\s+",
    re.IGNORECASE,
)
_ASKS = re.compile(r"[?？؟][\"'”’»)\]]*$|^¿")
# Requests, and questions that somebody types without a question mark.
_REQUESTS = re.compile(
    r"^(?:(?:please|pls|can you|could you|would you|bitte|kannst du) )*(?:tell|remind|show|give|find|list|look up|say"
    r"|explain|describe|recall|sag|erzähl|nenn|zeig|erinner|dis|dites|rappelle|dime|recuérdame|zeg|vertel|dimmi)\w*\b"
    r"|\bi(?: need|'d like| would like| want to know)\b",
    re.IGNORECASE,
)
_TYPED = re.compile(
    r"^(?:who|whose|what|which|where|when|why|how|is|are|was|were|do|does|did|has|have|can|could|should|will|would"
    r"|wer|wen|wem|was|welche\w*|wo|wann|warum|wie|qui|que|quel\w*|où|quand|pourquoi|comment|quién|qué|cuál|dónde"
    r"|cuándo|cómo|chi|dove|quando|perché|wie|wat|waar|wanneer|hoe)\b.*[^.!…]$",
    re.IGNORECASE | re.DOTALL,
)


@lru_cache(maxsize=64)
def sentences(message: str) -> tuple[str, ...]:
    """Return the sentences of a message, without white space at their ends; whom it speaks to is one, too."""
    message = message.strip()
    greeting = _GREETING.match(message)
    found = [greeting[0], *_SENTENCE.split(message[greeting.end() :])] if greeting else _SENTENCE.split(message)
    return tuple(sentence.strip() for sentence in found if sentence.strip())


@lru_cache(maxsize=64)
def asking_sentences(message: str) -> tuple[str, ...]:
    """Return the sentences of a message that ask; none for a message of one sentence.

    They are those with a question mark, or else those that request something, or else those that begin as a question.

    >>> asking_sentences("The van stood in the frost. Anything to do before the emission test?")
    ('Anything to do before the emission test?',)
    """
    found = sentences(message)
    if len(found) < 2:
        return ()
    return next(filter(None, (tuple(filter(one.search, found)) for one in (_ASKS, _REQUESTS, _TYPED))), ())[
        -MOST_SENTENCES:
    ]


def asks(message: str) -> bool:
    """Return whether a message has a sentence that asks."""
    return any(one.search(sentence) for sentence in sentences(message) for one in (_ASKS, _REQUESTS, _TYPED))


def question_first(message: str) -> str:
    """Return a long message with what it asks before the rest, since only its first words are read.

    >>> question_first(40 * "Hello there! " + "Where is the spare key?")[:36]
    'Where is the spare key? Hello there!'
    """
    asking = asking_sentences(message) if len(message) > SHORT else ()
    if not asking:
        return message
    return " ".join([*asking, *(sentence for sentence in sentences(message) if sentence not in asking)])
