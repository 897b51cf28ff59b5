"""The sequence of the words of a text: equal for texts that differ in case and punctuation alone."""

from __future__ import annotations

import pytest
from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.model.analysis.sequences import word_sequence


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deploys are allowed on Fridays", "Deploys are not allowed on Fridays"),
        ("turned on at night", "turned off at night"),
        ("invoices before delivery", "invoices after delivery"),
        ("we can work", "we can't work"),
        ("Ann owes Bo money", "Bo owes Ann money"),
        ("below -5 degrees", "below 5 degrees"),
        ("version 1.5", "version 15"),
        ("load < 80", "load > 80"),
        ("a == b", "a != b"),
        ("use C++", "use C"),
        ("if enabled", "if !enabled"),
        ("the plan: 👍", "the plan: 👎"),
        ("[ ] signed", "[x] signed"),
        ("यह है", "यह हो"),
        ("允许部署", "不允许部署"),
    ],
)
def test_what_says_the_opposite_has_other_words(one: str, other: str) -> None:
    assert word_sequence(one) != word_sequence(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deploys are allowed on Fridays.", "  deploys ARE allowed – on Fridays!"),
        ("Don\u2019t deploy", "don't  deploy"),
        ("the **staging** cluster", "the _staging_ cluster"),
        ("STRASSE", "Straße"),
        ("“-5”", "(−5)"),
        ("Kiwi\u200bWorks", "kiwiworks"),
        ("允许部署。", "允许部署"),
    ],
)
def test_case_and_punctuation_make_no_difference(one: str, other: str) -> None:
    assert word_sequence(one) == word_sequence(other)


@examples(200)
@given(st.text(max_size=60))
def test_a_sequence_is_that_of_its_own_words(text: str) -> None:
    words = word_sequence(text)
    assert word_sequence(f" {words}. ") == words
    assert word_sequence(f"{text} not") == f"{words} not".strip()
