"""Words that differ from a name by a typo."""

from __future__ import annotations

from uuid import UUID

import pytest
from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.model.words import QueryWord
from stratagraph.store.search.similar_names import MAX_WORDS, distance, similar_names, unknown_words

words = st.text("abcé", max_size=7)


def reference(one: str, other: str) -> int:
    """The distance by its definition."""
    if not one or not other:
        return len(one) + len(other)
    least = min(
        reference(one[:-1], other) + 1,
        reference(one, other[:-1]) + 1,
        reference(one[:-1], other[:-1]) + (one[-1] != other[-1]),
    )
    if one[-2:] == other[-2:][::-1] and len(one) > 1 and len(other) > 1:
        least = min(least, reference(one[:-2], other[:-2]) + 1)
    return least


@examples(60)
@given(st.text("ab", max_size=5), st.text("abc", max_size=5), st.integers(0, 3))
def test_the_distance_is_that_of_the_definition_up_to_a_bound(one: str, other: str, most: int) -> None:
    assert distance(one, other, most=most) == min(reference(one, other), most + 1)


@pytest.mark.parametrize(
    ("word", "name", "alike"),
    [
        ("mirorr", "Mirror", True),
        ("Kowalsky", "Anna Kowalski", True),
        ("Postgers", "Postgres", True),
        ("Kubernets", "Kubernetes", True),
        ("Kubrnets", "Kubernetes", True),
        ("Kbrnets", "Kubernetes", False),
        ("Muller", "Müller", False),
        ("cache", "cashe", True),
        ("cache", "coche", True),
        ("cache", "coachi", False),
    ],
)
def test_a_name_is_alike_with_one_wrong_letter_or_two_in_a_long_word(word: str, name: str, alike: bool) -> None:
    found = similar_names([{"entity": UUID(int=1), "word": word, "names": ["Else", name]}], limit=5)
    assert [one.name for one in found] == ([name] if alike else [])
    assert all(0.5 < one.similarity < 1 for one in found)


def test_only_words_that_no_record_has_are_looked_up() -> None:
    asked = [
        QueryWord(text, (number,)) for number, text in enumerate(["mirror", "mirorr", "tyop", "v1.2.3", *"abcdefg"])
    ]
    asked += [QueryWord("unknown" + letter, (100 + place,)) for place, letter in enumerate("abcdef")]
    found = unknown_words(asked, {0: 3})
    assert found == ["mirorr", "unknowna", "unknownb", "unknownc"]
    assert len(found) == MAX_WORDS
