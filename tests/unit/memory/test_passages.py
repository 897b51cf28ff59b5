"""The passage of a long text that a rendering shows: around the words of the question."""

from __future__ import annotations

from uuid import UUID

import pytest
from fix_examples import examples
from fix_memory import record_of
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.passages import passage, passage_of_tokens, words_asked
from stratagraph.memory.retrieve.rendering import render
from stratagraph.memory.retrieve.tokens import MARK, tokens_in
from stratagraph.store.model.analysis.lexemes import occurrences
from stratagraph.store.model.enums import MemoryType

FILLER = "The weather of that day was mild. " * 60
ANSWER = "The boiler was serviced by Hagstrom on Tuesday."
QUESTION = "who serviced the boiler?"


def words_in(text: str, question: str) -> set[int]:
    words = words_asked(question)
    return {words[lexeme][0] for _, lexeme in occurrences(text, words)}


@pytest.mark.parametrize(
    ("text", "begins", "ends"),
    [
        (f"assistant: {ANSWER} {FILLER}", f"assistant: {ANSWER}", MARK),
        (f"assistant: {FILLER}{ANSWER} {FILLER}", f"assistant: {MARK}The weather", MARK),
        (f"assistant: {FILLER}{ANSWER}", f"assistant: {MARK}The weather", ANSWER),
        (f'read_file({{"path": "x"}}) → {FILLER}{ANSWER}', f'read_file({{"path": "x"}}) → {MARK}The', ANSWER),
        (f"assistant: {FILLER}", "assistant: The weather", MARK),
        (f"Boiler plans. {FILLER}{ANSWER}", MARK, ANSWER),
    ],
    ids=["first", "within", "last", "call", "nowhere", "more of it later"],
)
def test_a_text_is_cut_around_the_words_of_the_question(text: str, begins: str, ends: str) -> None:
    words = words_asked(QUESTION)
    for cut in (passage(text, words, 400), passage_of_tokens(text, words, 80)):
        assert (ANSWER in cut) == (ANSWER in text)
        assert cut.startswith(begins)
        assert cut.endswith(ends)


def test_a_rarer_word_decides_between_two_passages() -> None:
    text = f"assistant: {FILLER}A boiler stood there. {FILLER}Hagstrom came. {FILLER}"
    assert "Hagstrom" in passage(text, words_asked("boiler Hagstrom", [1.0, 2.0]), 300)
    assert "boiler" in passage(text, words_asked("boiler Hagstrom", [2.0, 1.0]), 300)


def test_texts_without_spaces_are_cut_around_the_words_of_the_question_too() -> None:
    text = "user: " + "天气很好。" * 100 + "锅炉由老王维修。" + "天气很好。" * 100
    assert "锅炉由老王维修" in passage(text, words_asked("谁维修锅炉?"), 100)


texts = st.lists(
    st.sampled_from(["boiler", "serviced", "day.", "mild", "row1", "天气很好。", "é", "a: b"]), max_size=120
)


@examples(200)
@given(texts.map(" ".join), st.integers(1, 300))
def test_a_passage_is_part_of_its_text_within_the_bound_and_has_no_fewer_words_than_the_beginning(
    text: str, most: int
) -> None:
    words = words_asked(QUESTION)
    of_characters, of_tokens = passage(text, words, most), passage_of_tokens(text, words, most)
    assert len(of_characters) <= most
    assert tokens_in(of_tokens) <= most
    for cut in (of_characters, of_tokens):
        for part in cut.split(MARK):
            assert part in text
    assert (of_characters == text) == (len(text) <= most)
    assert passage(text, {}, most) == (text if len(text) <= most else text[: most - 1] + MARK)
    beginning = text[:most].rpartition(" ")[0]
    if 80 <= most < len(text):
        assert len(words_in(of_characters, QUESTION)) >= len(words_in(beginning, QUESTION))


def test_a_rendering_shows_the_part_of_an_answer_that_fits() -> None:
    found = [
        record_of(MemoryType.EPISODIC, id=UUID(int=place), text=f"assistant: {FILLER}{text} {FILLER}")
        for place, text in enumerate((ANSWER, "Nobody serviced anything."), 1)
    ]
    lines = render(found, token_budget=300, words=words_asked(QUESTION)).text.splitlines()
    assert len(lines) == 2
    assert ANSWER in lines[0]
    assert "Nobody serviced anything." in lines[1]
    assert tokens_in("\n".join(lines)) <= 300
