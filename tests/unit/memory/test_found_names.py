"""Names found in texts: what makes an entity by its form, and what is only looked up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.capture.found_names import GUESSES, NAME_WORDS, SearchedText, guessed_names, names_in_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail sam.lee@example.org today", {("Person", "sam.lee@example.org")}),
        ("Mail: <ann@mail.example.co.uk>.", {("Person", "ann@mail.example.co.uk")}),
        ("upgrade kit@2.5.0 and left-pad@v1.3.0-rc.1", set()),
        ("pull ghcr.io/a/b@sha256:0123abcd", set()),
        ("npm i @scope/kit@2.5.0 react@18", set()),
        ("db at postgres://app:s3cret@db and postgres://app:s3cret@db.example.com/x", set()),
        ("clone git@github.com:acme/kit.git", set()),
        ("see https://example.org/a?b=1.", {("URL", "https://example.org/a?b=1")}),
        ("see https://user:pw@example.org/a", set()),
        ("edit src/auth/tokens.py and ./docs/a.md", {("File", "src/auth/tokens.py"), ("File", "./docs/a.md")}),
    ],
)
def test_addresses_and_paths_make_entities_and_packages_do_not(text: str, expected: set[tuple[str, str]]) -> None:
    assert {(one.type, one.name) for one in names_in_text(text) if not one.known_only} == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("yesterday Sam Lee called", "Sam Lee"),
        ("José Pérez's laptop", "José Pérez"),
        ("вчера Жанна Петрова звонила", "Жанна Петрова"),
        ("昨天王小明打来电话", "王小明"),
        ("ask the Bank of England now", "Bank of England"),
        ("deployed to Redis在线服务", "Redis"),
        ("met Ludwig van Beethoven there", "Ludwig van Beethoven"),
        ("We meet Jon Smith and Priya Nair in Rome.", "Jon Smith"),
        ("We meet Jon Smith and Priya Nair in Rome.", "Priya Nair"),
        ("Tomorrow Anna Bergmann flies to Rome.", "Anna Bergmann"),
        ("yesterday Wu called", "Wu"),
        ("The report goes to HR.", "HR"),
        ("Budget Talk With Jürgen Weiß And Anna Bergmann", "Anna Bergmann"),
    ],
)
def test_capitalised_words_of_any_script_are_looked_up(text: str, name: str) -> None:
    assert name in guessed_names(text)


@given(st.text(max_size=400))
def test_guesses_are_bounded_and_in_the_text(text: str) -> None:
    guesses = guessed_names(text)
    assert len(guesses) <= GUESSES
    for guess in guesses:
        for word in guess.split():
            assert word in text


@given(
    before=st.lists(st.sampled_from(["Today", "We", "the", "and", "Rome"]), max_size=5),
    name=st.lists(st.sampled_from(["Ann", "Jon", "Lee", "Weiß"]), min_size=1, max_size=NAME_WORDS),
    after=st.lists(st.sampled_from(["And", "flies", "of", "Oslo"]), max_size=5),
)
def test_a_name_is_looked_up_whatever_capitalised_words_stand_beside_it(
    before: list[str], name: list[str], after: list[str]
) -> None:
    assert " ".join(name) in guessed_names(" ".join([*before, *name, *after]))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("Ann Lee is on call", True),
        ("Yesterday ANN  LEE's laptop broke", True),
        ("Ann Lee and Ann are on call", False),
        ("Annabel Lee is on call, not Ann", False),
        ("Ann-Marie and Ann Lee", False),
    ],
)
def test_a_word_of_a_longer_name_is_no_name_by_itself(text: str, part: bool) -> None:
    assert SearchedText(text).has_only_within("Ann", ["Ann Lee", "Lee"]) is part


def test_a_short_name_within_a_longer_one_of_a_script_without_spaces() -> None:
    assert SearchedText("昨日田中太郎が来た").has_only_within("田中", ["田中太郎"])
    assert not SearchedText("田中太郎と田中が来た").has_only_within("田中", ["田中太郎"])
