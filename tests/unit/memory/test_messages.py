"""What a message asks, full names in it, and how else its names may be spelled."""

from __future__ import annotations

from time import process_time

import pytest
from fix_examples import examples
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.memory.retrieve.messages import SHORT, asking_sentences, asks, question_first, sentences
from stratagraph.memory.retrieve.namesakes import full_names, names_another
from stratagraph.memory.retrieve.question import words_aside
from stratagraph.memory.retrieve.spellings import LONG, LONGEST, SHORTEST, spellings
from stratagraph.store.model.analysis.folding import folded
from stratagraph.store.model.analysis.languages import BASE, stem
from stratagraph.store.model.analysis.lexemes import asked

LETTERS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=LONGEST + 2)
SENTENCE = st.lists(LETTERS, min_size=3, max_size=8).map(" ".join)
MESSAGE = st.lists(st.tuples(SENTENCE, st.sampled_from([".", "?", "!"])), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("message", "asking"),
    [
        ("Where is the spare key?", []),
        ("The spare key is lost.", []),
        ("Be concise. Question from the user: Where is the spare key?", ["Where is the spare key?"]),
        ("I am late.\nWhere is the spare key?\nThanks!", ["Where is the spare key?"]),
        ("我迟到了。备用钥匙在哪里？谢谢。", ["备用钥匙在哪里？"]),
        ("Estoy en casa. ¿Dónde está la llave?", ["¿Dónde está la llave?"]),
        ("GET /a?b=c failed. Why did the deploy fail?", ["Why did the deploy fail?"]),
        ("Hey Claude, who is my landlord?", ["who is my landlord?"]),
        ("ChatGPT: when is the physio?", ["when is the physio?"]),
        ("When is the physio? Best, Hannah", ["When is the physio?"]),
        ("Where is the code? Could you answer in French? Keep it short?", [
            "Where is the code?", "Could you answer in French?", "Keep it short?",
        ]),
        ("Work was long. Please remind me who my landlord is. Thanks.", ["Please remind me who my landlord is."]),
        ("Ich bin müde. Sag mir, wie Jürgens Hund heißt.", ["Sag mir, wie Jürgens Hund heißt."]),
        ("I need the code for the gate. Work was long.", ["I need the code for the gate."]),
        ("work was long\nwhere is the spare key", ["where is the spare key"]),
        ("Which is cheaper, Rowan or Gloucester?", []),
    ],
)  # fmt: skip
def test_a_message_asks_in_some_of_its_sentences(message: str, asking: list[str]) -> None:
    assert list(asking_sentences(message)) == asking


@examples(100)
@given(MESSAGE)
def test_a_message_is_read_from_its_questions_and_loses_nothing(given_: list[tuple[str, str]]) -> None:
    message = " ".join(text + end for text, end in given_)
    first = question_first(message)
    assert set(sentences(first)) == set(sentences(message))
    asking = asking_sentences(message)
    assert first.startswith(" ".join(asking)) if asking and len(message) > SHORT else first == message
    assert not any(end == "?" for _, end in given_) or asks(message)


@pytest.mark.parametrize("text", ["3天前", "的", "ก", "A", "aB", "A ", "? ", "a? ", "Abcd Efgh ", "did we ", "上周"])
def test_no_question_of_20_000_characters_stops_the_process(text: str) -> None:
    """Each takes a tenth of a second. Where expressions were tried at every character, they took 7 to 43 s."""
    message = (text * 20_000)[:20_000]
    began = process_time()
    for read in (asking_sentences, full_names, asked, words_aside, question_first):
        read(message)
    assert process_time() - began < 3


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Is Sam Okafor here?", [("sam", "okafor")]),
        ("What did José María Álvarez buy in New York?", [("jose", "maria", "alvarez"), ("new", "york")]),
        ("Where is Sam?", []),
        ("Wann war Omas Geburtstag beim Arzt?", []),
        ("Where Is Sam Okafor's bike?", [("sam", "okafor")]),
    ],
)
def test_full_names_are_written_with_capitals(question: str, names: list[tuple[str, ...]]) -> None:
    assert full_names(question) == names


@pytest.mark.parametrize(
    ("text", "another"),
    [
        ("Maria Silva is allergic to penicillin", True),
        ("Maria Costa moved", False),
        ("MARIA COSTA moved", False),
        ("Maria moved", False),
        ("Maria Silva met Maria Costa", False),
        ("The Costa of Maria", False),
        ("maria silva is allergic", False),
    ],
)
def test_a_text_names_another_with_a_part_of_the_name(text: str, another: bool) -> None:
    assert names_another(text, [("maria", "costa")]) is another


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Kasha", "kasia"), ("Muhammad", "muhhamed"), ("Shrinivas", "srinivas"), ("Catherine", "katherine"),
        ("Stephen", "stefen"), ("Tomasz", "tomas"), ("Dimitri", "dmitri"), ("Srinvas", "srinivas"),
        ("Sarah", "sara"), ("Jörgen", "jorgan"),
    ],
)  # fmt: skip
def test_a_name_is_known_in_other_spellings(name: str, other: str) -> None:
    assert other in spellings(name)


@pytest.mark.parametrize(
    ("name", "other"),
    [("Marta", "maria"), ("Chile", "child"), ("Gina", "gone"), ("Jean", "join"), ("West", "wast"), ("Anna", "hanna")],
)
def test_a_short_name_is_not_taken_for_another_word(name: str, other: str) -> None:
    assert other not in spellings(name)


@examples(100)
@given(LETTERS, st.data())
def test_a_long_word_with_any_one_letter_wrong_is_found_and_never_the_word_itself(
    word: str, data: st.DataObject
) -> None:
    found = spellings(word)
    assert folded(word) not in found
    if not SHORTEST <= len(word) <= LONGEST:
        assert not found
    elif len(word) >= LONG:
        place = data.draw(st.integers(1, len(word) - 1))
        wrong = word[:place] + data.draw(st.sampled_from("abcdefghijklmnopqrstuvwxyz")) + word[place + 1 :]
        assert word in spellings(wrong) or stem(word, BASE) == stem(wrong, BASE)
