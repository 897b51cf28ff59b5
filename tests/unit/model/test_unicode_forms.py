"""Unicode normalisation: the standard's forms, in time linear in the text."""

import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from checkout import ROOMS, ROOT
from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.model.analysis.lexemes import MAX_READ, lexemes
from stratagraph.store.model.canonical import folded_text, normalised_name
from stratagraph.store.model.unicode_forms import MAX_MARKS, Form, normalised

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
# One character of each combining class, and those that decompose in an unusual way.
BY_CLASS = sorted({unicodedata.combining(chr(point)): chr(point) for point in range(0x20000)}.values())
ODD = "\u0344\u0f73\u0f75\u0f81\uff9e\uff9f\u1fee\ufdfa\ufb2c\u0958\u1e69\u01d5\u3099\u1100\u1161\u11a8각\u212b½ﬁ"
EMOJI = "\U0001f469\u200d\U0001f469\u200d\U0001f467\ufe0f\U0001f3fd"
characters = st.one_of(st.sampled_from(BY_CLASS), st.sampled_from(ODD + EMOJI + "aé ."), st.characters())
hostile = st.lists(st.tuples(characters, st.integers(1, 80)), max_size=12).map(
    lambda runs: "".join(character * times for character, times in runs)
)


def longest_run(text: str) -> int:
    """Return the most non-starters in a row, in the compatibility decomposition."""
    longest = count = 0
    for character in unicodedata.normalize("NFKD", text):
        count = count + 1 if unicodedata.combining(character) else 0
        longest = max(longest, count)
    return longest


@examples(100)
@given(hostile)
def test_every_form_is_bounded_and_idempotent_and_that_of_the_standard_without_long_runs(text: str) -> None:
    for form in FORMS:
        found = normalised(form, text)
        assert longest_run(found) <= MAX_MARKS
        assert normalised(form, found) == found
        assert len(found) <= 18 * len(text)
        if longest_run(text) <= MAX_MARKS:
            assert found == unicodedata.normalize(form, text)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("marks", [MAX_MARKS - 1, MAX_MARKS, MAX_MARKS + 1])
def test_a_run_is_cut_after_its_thirtieth_mark(form: Form, marks: int) -> None:
    kept = "x" + "\u0323" * min(marks, MAX_MARKS)
    assert normalised(form, "x" + "\u0323" * marks) == unicodedata.normalize(form, kept)


def test_no_character_escapes_the_search_for_long_runs() -> None:
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        if "\ud800" <= character <= "\udfff":
            continue
        parts = unicodedata.normalize("NFKD", character)
        if unicodedata.combining(parts[0]):  # no character has marks before a letter
            assert all(unicodedata.combining(part) for part in parts)
            assert longest_run(normalised("NFD", character * 40)) <= MAX_MARKS


def sorted_steps(text: str) -> int:
    """Return the steps of canonical ordering, which sorts each run of marks by insertion."""
    steps = 0
    run: list[int] = []
    for part in unicodedata.normalize("NFKD", text):
        mark = unicodedata.combining(part)
        if not mark:
            run = []
            continue
        place = len(run)
        while place and run[place - 1] > mark:
            place -= 1
        steps += len(run) - place + 1
        run.insert(place, mark)
    return steps


@pytest.mark.parametrize("size", [1_000, 10_000, 100_000])
def test_the_marks_that_are_put_in_order_are_few_however_long_a_run_is(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_to_sort: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> object:
            return getattr(unicodedata, name)

        def normalize(self, form: Form, text: str) -> str:
            given_to_sort.append(text)
            return unicodedata.normalize(form, text)

    monkeypatch.setattr("stratagraph.store.model.unicode_forms.unicodedata", Counting())
    text = "a" + "\u0301" * size + "\u0323" * size
    normalised_name(text)
    lexemes(text)
    assert sum(map(len, given_to_sort)) <= 20_000  # a text of one run is cut to 31 characters before it is put in order
    assert sum(sorted_steps(one) for one in given_to_sort) <= 10 * MAX_MARKS**2


@examples(30)
@given(hostile)
def test_names_and_literals_have_one_folded_form_however_many_marks_they_have(text: str) -> None:
    assert longest_run(normalised("NFC", normalised_name(text))) <= MAX_MARKS
    assert folded_text(text) == folded_text(f"  {text}  ")


def test_an_expanding_text_is_read_up_to_a_bound() -> None:
    words = lexemes("\ufdfa " * 300_000)  # 18 characters each in compatibility form
    assert sum(map(len, words)) <= 2 * MAX_READ  # a word has at most two forms


def test_a_long_text_has_the_words_of_its_parts() -> None:
    text = "déjà vu pkg/größe ﬁne " * 2_000
    assert lexemes(text) == lexemes("déjà vu pkg/größe ﬁne ") * 2_000


def sources() -> Iterator[Path]:
    for folder in ROOMS:
        yield from (ROOT / folder / "stratagraph").rglob("*.py")


def test_only_one_module_normalises() -> None:
    normalising = re.compile(r"unicodedata\s*\.\s*normalize|from unicodedata import|\bimport unicodedata as")
    found = [path.name for path in sources() if normalising.search(path.read_text())]
    assert found == ["unicode_forms.py"]
