"""Phrases in double quotes, and whether a text has them."""

from __future__ import annotations

import pytest
from fix_examples import examples
from fix_memory import record_of
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.phrases import MAX_PHRASES, has_phrases, phrases_of
from stratagraph.store.model.enums import MemoryType


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        ("no phrase", []),
        ('the "Retry budget" of', [" retry budget "]),
        ('"a b" and “C d”', [" a b ", " c d "]),
        ("„große Häuser“ und «été»", [" grosse hauser ", " ete "]),
        ('one " alone', []),
        ('"" "..." "x"', [" x "]),
        ('"使用Redis缓存"', ["使用 redis 缓存"]),
    ],
)
def test_a_phrase_is_what_stands_in_double_quotes(question: str, phrases: list[str]) -> None:
    assert phrases_of(question) == phrases


@pytest.mark.parametrize(
    ("text", "phrase", "found"),
    [
        ("We raised the retry budget.", "retry budget", True),
        ("We raised the RETRY-budget.", "retry budget", True),
        ("the budget for a retry", "retry budget", False),
        ("retry budgets", "retry budget", False),
        ("Die großen Häuser", "grossen hauser", True),
        ("我们使用Redis缓存数据", "缓存数据", True),
        ("我们使用Redis缓存数据", "使用Redis", True),
        ("我们使用Redis缓存数据", "数据缓存", False),
    ],
)
def test_a_text_has_a_phrase_word_for_word(text: str, phrase: str, found: bool) -> None:
    record = record_of(MemoryType.EPISODIC, name="", text=text)
    assert has_phrases(record, phrases_of(f'"{phrase}"')) is found


@examples(60)
@given(st.text(max_size=80), st.integers(0, 80), st.integers(0, 80))
def test_any_words_of_a_text_are_a_phrase_of_it(text: str, start: int, end: int) -> None:
    words = text.split()[min(start, end) % 7 : max(start, end) % 7 + 1]
    phrases = phrases_of('"' + " ".join(words) + '"')
    assert len(phrases) <= MAX_PHRASES
    assert has_phrases(record_of(MemoryType.EPISODIC, name="", text=" ".join(text.split())), phrases)
