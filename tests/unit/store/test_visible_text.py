"""Which texts are blank, and which say something."""

from __future__ import annotations

import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratagraph.store.model.enums import MemoryType
from stratagraph.store.model.errors import InvalidInput
from stratagraph.store.model.payloads import parse_payload
from stratagraph.store.model.predicates import fact_predicate
from stratagraph.store.model.visible_text import is_blank, says_something

UNSEEN = "\u200b\u200d\u2060\ufeff\u00ad\u202e\u034f\ufe0f\u0301\u3164\u115f\uffa0\u2800\u180e\U000e0041 \t\n\u2003"
PUNCTUATION = ".,;:!?…-–—_'\"“”«»()[]{}/\\|*#&@·、。「」"
unseen = st.text(st.sampled_from(UNSEEN), max_size=8)
unsaid = st.text(st.sampled_from(UNSEEN + PUNCTUATION.replace("|", "")), max_size=8)
word = st.text(st.characters(categories=["L", "N"], exclude_characters=UNSEEN), min_size=1, max_size=8)


@given(text=unseen, visible=st.sampled_from(PUNCTUATION) | word)
def test_a_text_is_blank_until_it_has_a_visible_character(text: str, visible: str) -> None:
    assert is_blank(text)
    assert not is_blank(text + visible)
    assert not is_blank(visible + text)


@given(text=unsaid, said=word)
def test_a_text_says_something_once_it_has_a_letter_or_a_digit(text: str, said: str) -> None:
    assert not says_something(text)
    assert says_something(text + said)
    assert says_something(said + text)


def test_of_all_letters_and_digits_only_the_fillers_say_nothing() -> None:
    characters = map(chr, range(sys.maxunicode + 1))
    silent = [one for one in characters if unicodedata.category(one)[0] in "LN" and not says_something(one)]
    assert silent == list("\u115f\u1160\u3164\uffa0")


@pytest.mark.parametrize(
    "text", ["C++", "C#", ".NET", "#1", "€", "👍🏽", "∞", "→", "100 %", "%", "अ", "か\u3099", "\ue000"]
)
def test_names_of_symbols_and_of_any_script_say_something(text: str) -> None:
    assert says_something(text)


FACT: dict[str, Any] = {
    "subject": "Ann",
    "predicate": "likes",
    "object": "tea",
    "validity": {"mode": "global"},
}
ENTITY: dict[str, Any] = {"canonical_name": "Ann"}


@given(blank=unseen.filter(bool))
def test_no_name_of_a_payload_may_be_blank(blank: str) -> None:
    for memory_type, payload in (
        (MemoryType.SEMANTIC, FACT | {"subject": blank}),
        (MemoryType.SEMANTIC, FACT | {"predicate": blank}),
        (MemoryType.ENTITY, {"canonical_name": blank}),
        (MemoryType.ENTITY, ENTITY | {"aliases": [{"value": blank}]}),
        (MemoryType.ENTITY, ENTITY | {"identifiers": [{"namespace": "git", "value": blank}]}),
        (MemoryType.ENTITY, ENTITY | {"identifiers": [{"namespace": blank, "value": "x"}]}),
    ):
        parse_payload(MemoryType.SEMANTIC, FACT)
        parse_payload(MemoryType.ENTITY, ENTITY)
        with pytest.raises(InvalidInput):
            parse_payload(memory_type, payload)


@given(text=unsaid)
def test_a_predicate_has_a_word(text: str) -> None:
    with pytest.raises(ValueError, match="must have a word"):
        fact_predicate(text)
