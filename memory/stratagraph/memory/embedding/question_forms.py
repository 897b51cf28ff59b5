"""The forms in which a question is embedded: as it is, and without the names in it. Pure.

A name pulls the vector of a question towards every text with that name, whatever the text says: of a question about
Ann, the nearest texts greet Ann. Records with a name are found by the name, so the mean of both forms is searched,
in which the form without names counts more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from stratagraph.store.model.analysis.languages import is_function_word, language_of

PLAIN = 1.5  # weight of the form without names in the mean, beside 1 of the question as it is
CAPITALS = "german"  # in which every noun is written as names are
_WORD = re.compile(r"[^\W_](?:[\w.-]*\w)?(?:['’]\w+)?")
_LETTERS = re.compile(r"[^\W\d_]+")
_GAPS = re.compile(r"\s+(?=[?!.,;:]|$)|(?<=\s)\s+")


def forms_of(question: str) -> list[str]:
    """Return the question, and the same without its names if it has some and asks for something else too.

    A name is a word with a capital that is not the first one.

    >>> forms_of("What did Ann's sister paint in Oslo?")
    ["What did Ann's sister paint in Oslo?", 'What did sister paint in?']
    >>> forms_of("what is the retry budget?"), forms_of("Who is Ann?")
    (['what is the retry budget?'], ['Who is Ann?'])
    """
    words = {word.lower() for word in _LETTERS.findall(question)}
    if language_of(words, least=1) == CAPITALS:
        return [question]
    named = [found for found in list(_WORD.finditer(question))[1:] if found[0][0].isupper()]
    if not named:
        return [question]
    kept, end = [], 0
    for found in named:
        kept.append(question[end : found.start()])
        end = found.end()
    plain = _GAPS.sub("", "".join([*kept, question[end:]])).strip()
    asks_more = any(not is_function_word(word.lower()) for word in _LETTERS.findall(plain))
    return [question, plain] if asks_more else [question]


def mean(vectors: Sequence[Sequence[float]]) -> Sequence[float]:
    """Return the mean of the vectors of a question's forms, of length 1 as they are.

    >>> mean([[1.0, 0.0], [0.0, 1.0]]), mean([[0.6, 0.8]])
    ([0.5547001962252291, 0.8320502943378437], [0.6, 0.8])
    """
    if len(vectors) == 1:
        return vectors[0]
    whole, plain = vectors
    total = [one + PLAIN * other for one, other in zip(whole, plain, strict=True)]
    length = math.hypot(*total)  # not 0, since the second one is longer
    return [value / length for value in total]
