"""The registry of predicates: each has one forward name and one inverse name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import names, predicates

from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.predicates import INVERSES, check_predicate, fact_predicate, inverse, stored_direction

EXAMPLES = settings(max_examples=100, deadline=None)


@EXAMPLES
@given(predicates)
def test_the_inverse_of_the_inverse_is_the_predicate(predicate: str) -> None:
    assert inverse(inverse(predicate)) == predicate
    assert inverse(predicate) != predicate
    assert inverse(inverse(inverse(predicate))) == inverse(predicate)


@EXAMPLES
@given(predicates)
def test_both_names_of_a_predicate_give_the_stored_direction(predicate: str) -> None:
    assert stored_direction(predicate) == (predicate, False)
    assert stored_direction(inverse(predicate)) == (predicate, True)


def test_all_names_of_the_registry_are_distinct() -> None:
    names = [*INVERSES, *INVERSES.values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", [*INVERSES, *INVERSES.values()])
def test_every_name_of_the_registry_can_be_stored(name: str) -> None:
    assert check_predicate(name, path=["predicate"]) == name


@pytest.mark.parametrize(
    ("predicate", "inverse_name"),
    [
        ("part_of", "has_part"),
        ("has_part", "part_of"),
        ("derived_semantic", "derived_from"),
        ("reviews", "inverse_of:reviews"),
        ("inverse_of:reviews", "reviews"),
    ],
)
def test_each_predicate_has_an_inverse_name(predicate: str, inverse_name: str) -> None:
    assert inverse(predicate) == inverse_name


@pytest.mark.parametrize("predicate", ["a", "a1", "a_b", "x" * 63])
def test_lower_case_words_joined_by_underscores_are_predicates(predicate: str) -> None:
    assert check_predicate(predicate, path=["p"]) == predicate


@pytest.mark.parametrize(
    "predicate", ["", "A", "1a", "_a", "a-b", "a b", "é", "x" * 64, "a\n", "inverse_of:a", "a`]->() DETACH DELETE"]
)
def test_an_invalid_predicate_is_refused(predicate: str) -> None:
    with pytest.raises(InvalidInput, match="is not a predicate") as caught:
        check_predicate(predicate, path=["edges", "0", "predicate"])
    assert caught.value.path == ["edges", "0", "predicate"]


def test_the_inverse_of_an_inverse_is_stored_forward() -> None:
    assert stored_direction("inverse_of:has_part") == ("part_of", False)
    assert stored_direction("inverse_of:reviews") == ("reviews", True)


@EXAMPLES
@given(names)
def test_the_one_spelling_of_a_fact_predicate_is_final(name: str) -> None:
    try:
        spelled = fact_predicate(name)
    except ValueError:
        return  # it has no word
    assert fact_predicate(spelled) == spelled


@EXAMPLES
@given(st.lists(st.from_regex(r"[a-z]{2,6}", fullmatch=True), min_size=1, max_size=4))
def test_spellings_of_the_same_words_are_one_fact_predicate(words: list[str]) -> None:
    camel = words[0] + "".join(word.title() for word in words[1:])
    spellings = ["_".join(words), "-".join(words), " ".join(words).title(), "  ".join(words), camel]
    assert {fact_predicate(text) for text in spellings} == {"_".join(words)}


@pytest.mark.parametrize("blank", ["", " ", "-", " _-_ "])
def test_a_fact_predicate_needs_a_word(blank: str) -> None:
    with pytest.raises(ValueError, match="must have a word"):
        fact_predicate(blank)
