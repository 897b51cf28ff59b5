"""The passage of a long text that has most of the question's words. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

from stratagraph.memory.retrieve.tokens import MARK, cut_to, tokens_in
from stratagraph.store.model.analysis.lexemes import asked, occurrences

Words = Mapping[str, tuple[int, float]]  # by lexeme: the place of a word in the question, and its weight
CHARACTERS = 3  # of a token, rather too few than too many
_HEAD = re.compile(r"[\w.-]{1,64}\([^→]{0,80}\) → |[^\s:(]{1,32}: ")  # who speaks, or which tool was called
_SENTENCE = re.compile(r"(?<=[.!?;:])\s|(?<=[。！？；])")


def words_asked(question: str, weights: Sequence[float] = ()) -> Words:
    """Return the words of a question by their lexemes. They have `weights`, in their order, or else all the same."""
    return {
        form: (place, weights[place] if place < len(weights) else 1.0)
        for place, word in enumerate(asked(question))
        for form in word.forms
    }


def passage(text: str, words: Words, most: int) -> str:
    """Return the text, or `most` characters of it with most of the question's words, with marks where it is cut."""
    if len(text) <= most:
        return text
    head, start = _begin(text, words, most)
    rest = text[start : start + most - len(head)]
    return f"{head}{rest}" if start + len(rest) == len(text) else f"{head}{rest[:-1]}{MARK}"


def passage_of_tokens(text: str, words: Words, most: int) -> str:
    """Return the text, or as many of its words as have at most `most` tokens, those with most of the question's."""
    if tokens_in(text) <= most:
        return text
    head, start = _begin(text, words, most * CHARACTERS)
    cut = cut_to(text[start:], most - tokens_in(head)) if start else ""
    return f"{head}{cut}" if cut else cut_to(text, most)


def _begin(text: str, words: Words, size: int) -> tuple[str, int]:
    """Return where a passage of `size` characters begins, and what stands before it: who speaks, and a mark.

    The text is cut at its beginning only where that gains words of the question.
    """
    found = occurrences(text, words) if words else []
    best, first, last = _weight(found, words, 0, size), 0, 0
    window: Counter[int] = Counter()
    weight, left = 0.0, 0
    head = _HEAD.match(text)
    before = (head.group() if head and 2 * head.end() < size else "") + MARK
    room = size - len(before)
    for place, lexeme in found:
        word, value = words[lexeme]
        weight += value * (not window[word])
        window[word] += 1
        while place - found[left][0] > max(0, room // 2):
            word, value = words[found[left][1]]
            window[word] -= 1
            weight -= value * (not window[word])
            left += 1
        if weight > best + 1e-9:
            best, first, last = weight, found[left][0], place
    if not first or room <= 0:
        return "", 0
    lead = max(0, (room - (last - first)) // 2)
    start = max(0, min(first - lead, len(text) - room))
    sentences = [start + match.end() for match in _SENTENCE.finditer(text[start:first])]
    space = text.find(" ", start, first) + 1
    start = sentences[0] if sentences else space or start
    return (before, start) if start > len(before) else ("", 0)


def _weight(found: Sequence[tuple[int, str]], words: Words, start: int, end: int) -> float:
    inside = found[bisect_left(found, (start, "")) : bisect_left(found, (end, ""))]
    return sum(dict(words[lexeme] for _, lexeme in inside).values())
